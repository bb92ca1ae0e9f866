#compdef dyno
# Completes dyno's command lines in zsh by asking dyno itself.
_dyno_dynamic() {
    local answer line name
    local -a names described space
    local files=0
    answer=$("${(Q)words[1]}" __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)
    if (( $? != 0 )); then
        # A static completion may exist next to this.
        (( $+functions[_dyno_static] )) && _dyno_static "$@"
        return
    fi
    for line in "${(@f)answer}"; do
        case $line in
            :files) files=1 ;;
            :nospace) space=(-S '') ;;
            ?*)
                name=${line%%$'\t'*}
                names+=("$name")
                if [[ -n ${line#*$'\t'} ]]; then
                    described+=("$name -- ${line#*$'\t'}")
                else
                    described+=("$name")
                fi
                ;;
        esac
    done
    if (( $#names )); then
        compadd "$space[@]" -l -d described -a names && return
    fi
    if (( files )); then
        # The name may follow an option's equals sign, or be in a URL.
        [[ $PREFIX == --*=* ]] && compset -P '*='
        compset -P 'sqlite:'
        _files
    fi
}
if [[ $funcstack[1] == _dyno ]]; then
    _dyno_dynamic "$@"
else
    compdef _dyno_dynamic dyno
fi
