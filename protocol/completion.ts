/** What a shell offers behind a program, written from its table of commands: for bash, zsh and fish. */

/** A flag of a command; a value called PATH, FILE or DIR is completed with files. */
export type OfferedFlag = {
  name: `--${string}`
  short?: string | undefined
  /** What its value is called, where it takes one. */
  value?: string | undefined
  /** The values that it may have. */
  values?: readonly string[] | undefined
  says: string
}
/** A program's commands, as the script of a shell is written from them. */
export type Offered = {
  program: string
  /** Under which words a command is called, and its flags. */
  commands: readonly { paths: readonly string[]; summary: string; flags: readonly OfferedFlag[] }[]
  /** What may follow the words of a path, from none on. */
  behind: ReadonlyMap<string, readonly string[]>
  /** A flag that stands anywhere and takes a value. */
  anywhere?: string
}

/** The script for each shell, as text. */
export const shells = { bash, zsh, fish } as const

/** Whether there is a script for the shell. */
export const isShell = (name: string | undefined): name is keyof typeof shells =>
  name !== undefined && Object.hasOwn(shells, name)

const formsOf = ({ name, short }: OfferedFlag) => (short === undefined ? [name] : [short, name])

const FILES = ['PATH', 'FILE', 'DIR']
/** A text between single quotes, for all three shells. */
const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "'\\''")}'`
const branch = (patterns: readonly string[], words: readonly string[]) =>
  `    ${patterns.map(quoted).join('|')}) echo ${quoted(words.join(' '))} ;;`

function bash({ program, commands, behind, anywhere }: Offered): string {
  const own = `_${program.replaceAll('-', '_')}`
  const flags = commands.map(row => branch(row.paths, row.flags.flatMap(formsOf)))
  const values = commands.flatMap(row =>
    row.flags
      .filter(({ value }) => value !== undefined)
      .map(flag =>
        branch(
          row.paths.map(path => `${path} ${flag.name}`),
          valuesOf(flag),
        ),
      ),
  )
  const words = [...behind].map(([path, next]) => branch([path], next))
  const ofAny = anywhere === undefined ? '' : `    *' ${anywhere}') echo ;;\n`
  return `# Completion of ${program} for bash: source <(${program} completion bash)
${own}_words() {
  case "$1" in
${words.join('\n')}
    *) return 1 ;;
  esac
}
${own}_flags() {
  case "$1" in
${flags.join('\n')}
  esac
}
${own}_values() {
  case "$1" in
${values.join('\n')}
${ofAny}    *) return 1 ;;
  esac
}
${own}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path='' before='' isOpen=1 word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [ -n "$before" ] && ${own}_values "$path $before" >/dev/null; then
      before=''
    elif [ "\${word:0:1}" = - ]; then
      before="$word"
    else
      before=''
      [ -n "$isOpen" ] && ${own}_words "\${path:+$path }$word" >/dev/null || isOpen=''
      [ -n "$isOpen" ] && path="\${path:+$path }$word"
    fi
  done
  COMPREPLY=()
  if [ -n "$before" ] && word="$(${own}_values "$path $before")"; then
    if [ "$word" = '@files' ]; then
      COMPREPLY=($(compgen -f -- "$cur"))
    else
      COMPREPLY=($(compgen -W "$word" -- "$cur"))
    fi
  elif [ "\${cur:0:1}" = - ]; then
    COMPREPLY=($(compgen -W "$(${own}_flags "$path")" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$(${own}_words "$path")" -- "$cur"))
  fi
}
complete -F ${own} ${program}
`
}

const valuesOf = ({ value = '', values }: OfferedFlag): readonly string[] => {
  if (values !== undefined) return values
  if (FILES.includes(value)) return ['@files']
  return value.includes('|') ? value.split('|') : []
}

/** zsh runs the functions of bash as they are. */
function zsh(offered: Offered): string {
  const { program } = offered
  const head = `# Completion of ${program} for zsh: source <(${program} completion zsh)
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
`
  return bash(offered).replace(/^# .*\n/, head)
}

function fish({ program, commands, behind }: Offered): string {
  const at = `__${program.replaceAll('-', '_')}_at`
  const known = [...behind.keys()].filter(path => path !== '').map(quoted)
  const summaries = new Map(commands.flatMap(row => row.paths.map(path => [path, row.summary])))
  const words = [...behind].flatMap(([path, next]) =>
    next.map(word => {
      const summary = summaries.get(path === '' ? word : `${path} ${word}`)
      const says = summary === undefined ? '' : ` -d ${quoted(summary)}`
      return `complete -c ${program} -n ${quoted(`${at} ${quoted(path)}`)} -a ${quoted(word)}${says}`
    }),
  )
  const flags = commands.flatMap(row =>
    row.paths.flatMap(path => row.flags.map(flag => fishFlag(program, `${at} ${quoted(path)}`, flag))),
  )
  return `# Completion of ${program} for fish: ${program} completion fish | source
function ${at}
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
complete -c ${program} -f
${words.join('\n')}
${flags.join('\n')}
`
}

function fishFlag(program: string, where: string, flag: OfferedFlag): string {
  const short = flag.short === undefined ? '' : ` -s ${flag.short.slice(1)}`
  const [first, ...others] = valuesOf(flag)
  const value = flag.value === undefined ? '' : first === '@files' ? ' -r -F' : ' -x'
  const offered =
    first === undefined || first === '@files' ? '' : ` -a ${quoted([first, ...others].join(' '))}`
  return `complete -c ${program} -n ${quoted(where)} -l ${flag.name.slice(2)}${short}${value}${offered} -d ${quoted(flag.says)}`
}
