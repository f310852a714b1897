/** A line read by clipanion: a row of the table becomes a command class with its flags as options. */
import { Cli, Command, Option } from 'clipanion'
import { type CommandRow, type Flag, GLOBAL_FLAGS, ID_FLAG, type Input } from './command.ts'
import { type Found, unknownFlag } from './flags.ts'
import { UsageRefused } from './io.ts'

const helpOf = ({ path }: CommandRow): string => (path === 'help' ? 'svc help' : `svc help ${path}`)

/**
 * clipanion takes every word with a dash for an option, and texts and ids may begin with one. No argument of a process
 * holds a NUL, so one put before such a word keeps it from clipanion and is taken off behind it. What begins with two
 * dashes stays an option, unless it has the form of an interaction id.
 */
const ESCAPE = '\0'
const INTERACTION_ID = /^-[A-Za-z0-9_-]{21}$/

/** The flags and arguments of a command; throws {@link UsageRefused}. */
export function parse({ row, words: rest }: Pick<Found, 'row' | 'words'>): Input {
  const flags = [...(row.flags ?? []), ...GLOBAL_FLAGS]
  const cli = new Cli({ binaryName: 'svc', enableColors: false })
  const Class = commandClass(flags)
  cli.register(Class)
  const command = process(cli, row, flags, escaped(flags, rest))
  const given = new Map(flags.flatMap(flag => valuesOf(row, flag, command[flag.name])))
  const words = (command['positionals'] as string[]).map(plain)
  checkPositionals(row, words)
  const isIdentity = (n: number) => row.positionals?.[n]?.isIdentity === true
  const id = words.find((_, n) => isIdentity(n)) ?? given.get(ID_FLAG.name)?.[0]
  given.delete(ID_FLAG.name)
  return { id, flags: given, positionals: words.filter((_, n) => !isIdentity(n)) }
}

function commandClass(flags: readonly Flag[]) {
  return class extends Command {
    positionals = Option.Rest({ name: 'arguments' })

    constructor() {
      super()
      // clipanion finds options as own properties of the instance
      for (const flag of flags) {
        const names = flag.short === undefined ? flag.name : `${flag.short},${flag.name}`
        const option = flag.value === undefined ? Option.Counter(names) : Option.Array(names)
        Object.assign(this, { [flag.name]: option })
      }
    }

    override async execute(): Promise<void> {}
  }
}

function escaped(flags: readonly Flag[], words: readonly string[]): string[] {
  const isFlag = (word: string) =>
    flags.some(({ name, short }) => word === short || word === name || word.startsWith(`${name}=`))
  const isText = (word: string) => !word.startsWith('--') || INTERACTION_ID.test(word)
  return words.map(word => (word.startsWith('-') && isText(word) && !isFlag(word) ? ESCAPE + word : word))
}

const plain = (word: string) => (word.startsWith(ESCAPE) ? word.slice(ESCAPE.length) : word)

function process(cli: Cli, row: CommandRow, flags: readonly Flag[], words: string[]) {
  try {
    return cli.process(words) as unknown as Record<string, unknown>
  } catch (error) {
    throw explain(row, flags, words) ?? error
  }
}

/** Which word clipanion could not take: its own sentence is for those who write a program with it. */
function explain(
  row: CommandRow,
  flags: readonly Flag[],
  words: readonly string[],
): UsageRefused | undefined {
  const end = words.indexOf('--')
  const help = helpOf(row)
  for (const [i, word] of words.slice(0, end < 0 ? words.length : end).entries()) {
    if (!word.startsWith('--')) continue
    const [name] = word.split('=') as [string]
    const flag = flags.find(known => known.name === name)
    if (flag === undefined) return unknownFlag(name, row)
    if (flag.value === undefined && word !== name) return new UsageRefused(`${name} takes no value`, help)
    if (flag.value !== undefined && word === name && (words[i + 1] ?? '--').startsWith('--'))
      return new UsageRefused(`missing value: ${name} <${flag.value}>${choiceOf(flag)}`, help)
  }
  return undefined
}

const choiceOf = ({ values }: Flag) => (values === undefined ? '' : `; expected ${listed(values)}`)
const listed = (values: readonly string[]) =>
  [values.slice(0, -1).join(', '), ...values.slice(-1)].filter(part => part !== '').join(' or ')

function valuesOf(row: CommandRow, flag: Flag, found: unknown): [string, string[]][] {
  if (found === undefined) return []
  // clipanion offers --no-x for every switch; the table does not
  if (found === 0) throw unknownFlag(`--no-${flag.name.slice(2)}`, row)
  const values =
    typeof found === 'number' ? Array<string>(found).fill('true') : (found as string[]).map(plain)
  const wrong = values.find(value => flag.values !== undefined && !flag.values.includes(value))
  const help = `svc help ${row.path}`
  if (wrong !== undefined) {
    const expected = listed(flag.values ?? [])
    throw new UsageRefused(`expected ${expected} for ${flag.name}, got "${wrong}"`, help)
  }
  if (values.length > 1 && !flag.repeat) throw new UsageRefused(`${flag.name} was given more than once`, help)
  return [[flag.name, values]]
}

function checkPositionals(row: CommandRow, given: readonly string[]): void {
  const known = row.positionals ?? []
  const missing = known[given.length]
  if (missing?.required) throw new UsageRefused(`missing argument: <${missing.name}>`, `svc help ${row.path}`)
  if (given.length > known.length && !known.at(-1)?.repeat) {
    const extra = given[known.length] as string
    throw new UsageRefused(
      `unexpected argument: ${extra}; put text of several words in quotes`,
      `svc help ${row.path}`,
    )
  }
  for (const [n, { values }] of known.entries()) {
    const word = given[n]
    if (values === undefined || word === undefined || values.includes(word)) continue
    throw new UsageRefused(`expected ${listed(values)}, got "${word}"`, `svc help ${row.path}`)
  }
}
