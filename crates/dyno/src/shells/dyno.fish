# Completes dyno's command lines in fish by asking dyno itself.
function __dyno_dynamic
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l answer ($words[1] __complete -- $words[2..-1] $current 2>/dev/null </dev/null)
    or return
    for line in $answer
        switch $line
            case :files
                __fish_complete_path (string replace -r -- '^--[^=]*=' '' $current)
            case :nospace
            case '*'
                echo $line
        end
    end
end
complete -c dyno -f -a '(__dyno_dynamic)'
