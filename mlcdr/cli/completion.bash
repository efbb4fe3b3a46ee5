_mlcdr_completion() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(_MLCDR_COMPLETE=bash _MLCDR_LINE="${COMP_LINE:0:COMP_POINT}" _MLCDR_PROGRAM="$1" \
        _MLCDR_BREAKS="$COMP_WORDBREAKS" "$1" 2>/dev/null)
}
complete -o nospace -F _mlcdr_completion mlcdr
