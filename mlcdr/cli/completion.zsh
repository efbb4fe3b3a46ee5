#compdef mlcdr
_mlcdr() {
    local value text
    local -a whole parts shown_whole shown_parts
    while IFS=$'\t' read -r value text; do
        if [[ $value == *' ' ]]; then
            whole+=("${value% }"); shown_whole+=("${value% }${text:+  -- $text}")
        else
            parts+=("$value"); shown_parts+=("$value${text:+  -- $text}")
        fi
    done < <(_MLCDR_COMPLETE=zsh _MLCDR_LINE="${(j: :)words[1,CURRENT-1]} $PREFIX" _MLCDR_PROGRAM="$words[1]" \
        "$words[1]" 2>/dev/null)
    (( $#whole )) && compadd -Q -l -d shown_whole -a whole
    (( $#parts )) && compadd -Q -l -S '' -d shown_parts -a parts
}
if [[ $funcstack[1] == _mlcdr ]]; then _mlcdr "$@"; else compdef _mlcdr mlcdr; fi
