# Completes dyno's command lines in bash by asking dyno itself.
_dyno_dynamic() {
    local line=${COMP_LINE:0:COMP_POINT} rest word index
    local -a words=()
    # bash splits words at = : @ and others; join them again.
    for ((index = 0; index <= COMP_CWORD; index++)); do
        rest=${line#"${line%%[![:blank:]]*}"}
        word=${COMP_WORDS[index]}
        ((index == COMP_CWORD)) && word=$rest
        if ((index > 0)) && [[ $rest == "$line" && -n $line ]]; then
            words[${#words[@]} - 1]+=$word
        elif ((index > 0)) && [[ $rest == "$line" && ${#words[@]} -gt 1 ]]; then
            :
        else
            words+=("$word")
        fi
        line=${rest#"$word"}
    done
    local current=${words[${#words[@]} - 1]} answer
    answer=$("${words[0]/#\~\//$HOME/}" __complete -- "${words[@]:1}" 2>/dev/null </dev/null)
    if (($? != 0)); then
        # A static completion may exist next to this.
        declare -F _dyno >/dev/null && _dyno "$@"
        return
    fi
    # Candidates omit the part that bash treats as separate words.
    local kept=""
    [[ $current == *["$COMP_WORDBREAKS"]* && $current != [\"\']* ]] &&
        kept=${current%"${current##*["$COMP_WORDBREAKS"]}"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files) compopt -o default 2>/dev/null ;;
            :nospace) compopt -o nospace 2>/dev/null ;;
            ?*)
                word=${line%%$'\t'*}
                [[ $word == "$kept"* ]] && word=${word#"$kept"}
                [[ $word == *[![:alnum:]_./:=,@+-]* ]] && printf -v word %q "$word"
                COMPREPLY+=("$word")
                ;;
        esac
    done <<<"$answer"
}
complete -F _dyno_dynamic dyno
