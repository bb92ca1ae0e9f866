# Completes dyno's command lines in fish by asking dyno itself.
function __dyno_dynamic
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l answer ($words[1] __complete -- $words[2..-1] $current 2>/dev/null </dev/null)
    or return
    for line in $answer
        switch $line
            case :files
                # The name may follow an option's equals sign, or be in a URL.
                set -l before (string match -r -- '^(?:--[^=]*=)?(?:sqlite:)?' $current)
                for path in (__fish_complete_path (string replace -- "$before" '' $current))
                    echo $before$path
                end
            case :nospace
            case '*'
                echo $line
        end
    end
end
complete -c dyno -f -a '(__dyno_dynamic)'
