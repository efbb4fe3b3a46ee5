# mlcdr with all extras that need no Java:
#     docker build --tag mlcdr .
#     docker run --rm --volume "$PWD:/work" mlcdr run yeast_cplst
FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir --constraint /source/constraints.txt '/source[dask,models,optuna,parquet,trees]' \
    && rm -r /source \
    && useradd --create-home mlcdr
USER mlcdr
WORKDIR /work
ENTRYPOINT ["mlcdr"]
CMD ["--help"]
