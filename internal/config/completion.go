package config

import (
	"fmt"
	"strings"
)

// completion is a script that completes commands, flags and their values in a
// shell. It is made of the same declarations as the flags, and asks nobody
// while it completes.
func completion(cmds []command, shell string) string {
	switch shell {
	case "bash":
		return bashCompletion(cmds)
	case "zsh":
		return zshCompletion(cmds)
	case "fish":
		return fishCompletion(cmds)
	}
	return "" // it was not allowed, and that is reported
}

// everywhereFlags are the flags of all commands.
const everywhereFlags = "--help --version"

// flags are a command's flags, and arguments what may follow it.
func (c command) flags() (flags, arguments []setting) {
	for _, s := range withoutFamilies(c.settings) {
		if s.argument {
			arguments = append(arguments, s)
		} else {
			flags = append(flags, s)
		}
	}
	return flags, arguments
}

// argument is what follows the command, for the help.
func (c command) argument() string {
	_, arguments := c.flags()
	text := ""
	for _, s := range arguments {
		text += " " + s.flag()
	}
	return text
}

// needsValue reports whether a flag takes the next word.
func (s setting) needsValue() bool { return !s.value.toggle }

// bashCompletion is for bash from 3.2 on, without bash-completion. Words are
// cut at "=", because bash does so itself.
func bashCompletion(cmds []command) string {
	var b strings.Builder
	b.WriteString(`# bash completion for riftrelay. For this shell: eval "$(riftrelay completion bash)"
_riftrelay() {
	local cur="${COMP_WORDS[COMP_CWORD]}" flag="${COMP_WORDS[COMP_CWORD-1]}" command=serve i words="" flags="" files=""
	if [[ $cur == "=" ]]; then
		cur=""
	elif [[ $flag == "=" ]]; then
		flag="${COMP_WORDS[COMP_CWORD-2]}"
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case "${COMP_WORDS[i]}" in
`)
	fmt.Fprintf(&b, "\t\t%s) command=\"${COMP_WORDS[i]}\"; break ;;\n", strings.Join(names(cmds), " | "))
	b.WriteString("\t\tesac\n\tdone\n\tcase \"$command $flag\" in\n")
	for _, c := range cmds {
		flags, _ := c.flags()
		for _, s := range flags {
			switch {
			case s.value.file:
				fmt.Fprintf(&b, "\t\"%s %s\") files=yes ;;\n", c.name, s.flag())
			case s.value.words != nil && s.needsValue():
				fmt.Fprintf(&b, "\t\"%s %s\") words=\"%s\" ;;\n", c.name, s.flag(), strings.Join(s.value.words, " "))
			case s.needsValue():
				fmt.Fprintf(&b, "\t\"%s %s\") return ;;\n", c.name, s.flag())
			}
		}
	}
	b.WriteString("\t*) case \"$command\" in\n")
	for _, c := range cmds {
		flags, arguments := c.flags()
		dashed, plain := []string{everywhereFlags}, []string(nil)
		for _, s := range flags {
			dashed = append(dashed, s.flag())
		}
		for _, s := range arguments {
			plain = append(plain, s.value.words...)
		}
		if c.name == Serve {
			plain = names(cmds)
		}
		fmt.Fprintf(&b, "\t\t%s) words=\"%s\" flags=\"%s\" ;;\n", c.name, strings.Join(plain, " "), strings.Join(dashed, " "))
	}
	b.WriteString(`		esac ;;
	esac
	[[ $cur == -* ]] && words=$flags
	if [[ -n $files ]]; then
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur"))
	else
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
	fi
}
complete -F _riftrelay riftrelay
`)
	return b.String()
}

// zshCompletion is for a file named _riftrelay in $fpath, and for eval.
func zshCompletion(cmds []command) string {
	var b strings.Builder
	b.WriteString("#compdef riftrelay\n# zsh completion for riftrelay. For this shell, after compinit: eval \"$(riftrelay completion zsh)\"\n_riftrelay() {\n\tlocal -a commands=(\n")
	for _, c := range cmds {
		fmt.Fprintf(&b, "\t\t%s\n", single(string(c.name)+":"+c.help))
	}
	b.WriteString("\t)\n\tlocal command=serve word\n\tfor word in ${words[2,CURRENT-1]}; do\n")
	fmt.Fprintf(&b, "\t\tcase $word in (%s) command=$word; break ;; esac\n", strings.Join(names(cmds), "|"))
	b.WriteString("\tdone\n\tlocal -a spec=('--help[show help]' '--version[show the version]')\n\tcase $command in\n")
	for _, c := range cmds {
		flags, arguments := c.flags()
		fmt.Fprintf(&b, "\t(%s) spec+=(\n", c.name)
		for _, s := range flags {
			spec := s.flag()
			if s.needsValue() {
				spec += "="
			}
			spec += "[" + strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(s.help) + "]"
			switch {
			case !s.needsValue():
			case s.value.file:
				spec += ":file:_files"
			case s.value.words != nil:
				spec += ":value:(" + strings.Join(s.value.words, " ") + ")"
			default:
				spec += ":value: "
			}
			fmt.Fprintf(&b, "\t\t%s\n", single(spec))
		}
		for _, s := range arguments {
			fmt.Fprintf(&b, "\t\t%s\n", single("2:"+strings.ToLower(s.name)+":("+strings.Join(s.value.words, " ")+")"))
		}
		b.WriteString("\t) ;;\n")
	}
	b.WriteString(`	esac
	_arguments "$spec[@]" '1:command:{_describe command commands}'
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
	_riftrelay "$@"
else
	compdef _riftrelay riftrelay
fi
`)
	return b.String()
}

func fishCompletion(cmds []command) string {
	var b strings.Builder
	b.WriteString("# fish completion for riftrelay. For this shell: riftrelay completion fish | source\ncomplete -c riftrelay -f\n")
	b.WriteString("complete -c riftrelay -l help -s h -d 'show help'\ncomplete -c riftrelay -l version -d 'show the version'\n")
	none := "not __fish_seen_subcommand_from " + strings.Join(names(cmds), " ")
	for _, c := range cmds {
		fmt.Fprintf(&b, "complete -c riftrelay -n %s -a %s -d %s\n", fishQuote(none), c.name, fishQuote(c.help))
	}
	for _, c := range cmds {
		condition := "__fish_seen_subcommand_from " + string(c.name)
		if c.name == Serve {
			condition = none + "; or " + condition
		}
		flags, arguments := c.flags()
		for _, s := range flags {
			more := ""
			switch {
			case !s.needsValue():
			case s.value.file:
				more = " -r -F"
			case s.value.words != nil:
				more = " -x -a " + fishQuote(strings.Join(s.value.words, " "))
			default:
				more = " -x"
			}
			fmt.Fprintf(&b, "complete -c riftrelay -n %s -l %s -d %s%s\n", fishQuote(condition), strings.TrimPrefix(s.flag(), "--"), fishQuote(s.help), more)
		}
		for _, s := range arguments {
			fmt.Fprintf(&b, "complete -c riftrelay -n %s -a %s\n", fishQuote(condition), fishQuote(strings.Join(s.value.words, " ")))
		}
	}
	return b.String()
}

// single quotes a text for bash and zsh, fishQuote for fish.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
