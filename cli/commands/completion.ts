/** `svc completion`: what a shell offers behind `svc`, written from the command table. */
import { type CommandRow, type Flag, ID_FLAG, type Run } from '../command.ts'
import { flagsOf, formsOf, pathsOf, wordsBehind } from '../words.ts'

const scripts: Record<string, (commands: readonly CommandRow[]) => string> = { bash, zsh, fish }

export const completion: Run = async (io, input, { commands }) => {
  const write = scripts[input.positionals[0] as string] as (typeof scripts)[string]
  io.out(write(commands))
  return 0
}

const FILES = ['PATH', 'FILE', 'DIR']
/** A text between single quotes, for all three shells. */
const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "'\\''")}'`
const branch = (patterns: readonly string[], words: readonly string[]) =>
  `    ${patterns.map(quoted).join('|')}) echo ${quoted(words.join(' '))} ;;`

function bash(commands: readonly CommandRow[]): string {
  const flags = commands.map(row => branch(pathsOf(row), flagsOf(row).flatMap(formsOf)))
  const values = commands.flatMap(row =>
    flagsOf(row)
      .filter(({ value }) => value !== undefined)
      .map(flag =>
        branch(
          pathsOf(row).map(path => `${path} ${flag.name}`),
          valuesOf(flag),
        ),
      ),
  )
  const words = [...wordsBehind(commands)].map(([path, next]) => branch([path], next))
  return `# Completion of svc for bash: source <(svc completion bash)
_svc_words() {
  case "$1" in
${words.join('\n')}
    *) return 1 ;;
  esac
}
_svc_flags() {
  case "$1" in
${flags.join('\n')}
  esac
}
_svc_values() {
  case "$1" in
${values.join('\n')}
    *' ${ID_FLAG.name}') echo ;;
    *) return 1 ;;
  esac
}
_svc() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path='' before='' isOpen=1 word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [ -n "$before" ] && _svc_values "$path $before" >/dev/null; then
      before=''
    elif [ "\${word:0:1}" = - ]; then
      before="$word"
    else
      before=''
      [ -n "$isOpen" ] && _svc_words "\${path:+$path }$word" >/dev/null || isOpen=''
      [ -n "$isOpen" ] && path="\${path:+$path }$word"
    fi
  done
  COMPREPLY=()
  if [ -n "$before" ] && word="$(_svc_values "$path $before")"; then
    if [ "$word" = '@files' ]; then
      COMPREPLY=($(compgen -f -- "$cur"))
    else
      COMPREPLY=($(compgen -W "$word" -- "$cur"))
    fi
  elif [ "\${cur:0:1}" = - ]; then
    COMPREPLY=($(compgen -W "$(_svc_flags "$path")" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$(_svc_words "$path")" -- "$cur"))
  fi
}
complete -F _svc svc
`
}

const valuesOf = ({ value = '', values }: Flag): readonly string[] => {
  if (values !== undefined) return values
  if (FILES.includes(value)) return ['@files']
  return value.includes('|') ? value.split('|') : []
}

/** zsh runs the functions of bash as they are. */
function zsh(commands: readonly CommandRow[]): string {
  const head = `# Completion of svc for zsh: source <(svc completion zsh)
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
`
  return bash(commands).replace(/^# .*\n/, head)
}

function fish(commands: readonly CommandRow[]): string {
  const behind = wordsBehind(commands)
  const known = [...behind.keys()].filter(path => path !== '').map(quoted)
  const summaries = new Map(commands.flatMap(row => pathsOf(row).map(path => [path, row.summary])))
  const words = [...behind].flatMap(([path, next]) =>
    next.map(word => {
      const summary = summaries.get(path === '' ? word : `${path} ${word}`)
      const says = summary === undefined ? '' : ` -d ${quoted(summary)}`
      return `complete -c svc -n ${quoted(`__svc_at ${quoted(path)}`)} -a ${quoted(word)}${says}`
    }),
  )
  const flags = commands.flatMap(row =>
    pathsOf(row).flatMap(path => flagsOf(row).map(flag => fishFlag(path, flag))),
  )
  return `# Completion of svc for fish: svc completion fish | source
function __svc_at
  set -l path
  for word in (commandline -opc)[2..]
    if string match -q -- '-*' $word
      continue
    end
    if not contains -- (string join ' ' -- $path $word) ${known.join(' ')}
      break
    end
    set path $path $word
  end
  test (string join ' ' -- $path | string collect -a) = "$argv[1]"
end
complete -c svc -f
${words.join('\n')}
${flags.join('\n')}
`
}

function fishFlag(path: string, flag: Flag): string {
  const short = flag.short === undefined ? '' : ` -s ${flag.short.slice(1)}`
  const [first, ...others] = valuesOf(flag)
  const value = flag.value === undefined ? '' : first === '@files' ? ' -r -F' : ' -x'
  const offered =
    first === undefined || first === '@files' ? '' : ` -a ${quoted([first, ...others].join(' '))}`
  return `complete -c svc -n ${quoted(`__svc_at ${quoted(path)}`)} -l ${flag.name.slice(2)}${short}${value}${offered} -d ${quoted(flag.says)}`
}
