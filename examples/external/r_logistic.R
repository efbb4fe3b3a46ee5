# Logistic regression of each label: Rscript r_logistic.R TRAIN TEST OUT N_FEATURES
arguments <- commandArgs(trailingOnly = TRUE)
d <- as.integer(arguments[4])
train <- read.csv(arguments[1])
rows <- cbind(1, as.matrix(read.csv(arguments[2])[1:d]))
predict_label <- function(y) {
  fitted <- suppressWarnings(glm.fit(cbind(1, as.matrix(train[1:d])), y, family = binomial()))
  weights <- ifelse(is.na(fitted$coefficients), 0, fitted$coefficients)
  plogis(drop(rows %*% weights))
}
write.csv(sapply(train[-(1:d)], predict_label), arguments[3], row.names = FALSE)
