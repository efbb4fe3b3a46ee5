% Ridge regression of the labels: octave octave_ridge.m TRAIN TEST OUT N_FEATURES ALPHA
[train, test, out, d, alpha] = argv(){:};
d = str2double(d);
T = dlmread(train, ",", 1, 0);  X = T(:, 1:d);  Y = T(:, d+1:end);
N = dlmread(test, ",", 1, 0)(:, 1:d);
W = ((X - mean(X))' * (X - mean(X)) + str2double(alpha) * eye(d)) \ ((X - mean(X))' * (Y - mean(Y)));
dlmwrite(out, (N - mean(X)) * W + mean(Y), "precision", 17);
