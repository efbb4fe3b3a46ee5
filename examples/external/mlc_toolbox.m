% PLST of MLC-Toolbox: octave mlc_toolbox.m TOOLBOX TRAIN TEST OUT N_FEATURES
% TOOLBOX is a copy of https://github.com/KKimura360/MLC_toolbox. Its Sample.m shows the settings of other methods.
[toolbox, train, test, out, d] = argv(){:};
addpath(genpath([toolbox "/function"]));
d = str2double(d);
T = dlmread(train, ",", 1, 0);  X = sparse(T(:, 1:d));  Y = T(:, d+1:end);
N = sparse(dlmread(test, ",", 1, 0)(:, 1:d));
method.name = {"PLST"};
method.param = {struct("dim", ceil(columns(Y) / 2))};
method.base.name = "ridge";
method.base.param.lambda = 10;
model = MLC_train(X, Y, method);
dlmwrite(out, full(MLC_test(X, Y, N, model, method)), "precision", 17);
