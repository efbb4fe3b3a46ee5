function __mlcdr_complete
    set -l line (commandline --cut-at-cursor --current-process)
    _MLCDR_COMPLETE=fish _MLCDR_LINE="$line" mlcdr 2>/dev/null
end
complete --command mlcdr --no-files --arguments '(__mlcdr_complete)'
