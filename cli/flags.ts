/**
 * From an argument list to a command and its input: `--id` from anywhere, aliases, both flag forms, the check of
 * unknown flags before dispatch. Only what starts with `--` is a flag, so texts may start with a dash.
 */

import { type CommandRow, callPaths, type Flag, ID_FLAG, type Input } from './command.ts'
import { CommandFailed } from './io.ts'
import { commands, groupAliases, groupDefaults } from './table.ts'

const WORDS_MAX = 3

export type Parsed = { row: CommandRow; input: Input }

/** Finds the command and splits its arguments; throws {@link CommandFailed}, with exit code 2 for an unknown flag. */
export function parseArguments(argv: readonly string[]): Parsed {
  const { id, rest } = takeId(argv)
  if (rest.length === 0) return parsed(findExact('help') as CommandRow, [], id)
  const { row, consumed } = findCommand(rest)
  return parsed(row, rest.slice(consumed), id)
}

/** The flags a command accepts, as the refusal of an unknown one lists them. */
export function acceptedFlags(row: CommandRow): string[] {
  return [...(row.flags ?? []), ID_FLAG].map(flag => flag.name)
}

function takeId(argv: readonly string[]): { id: string | undefined; rest: string[] } {
  const rest: string[] = []
  let id: string | undefined
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] as string
    if (argument === '--') return { id, rest: [...rest, ...argv.slice(i)] }
    if (argument === '--id') {
      id = argv[++i]
      if (id === undefined) throw new CommandFailed('missing value: --id <name>', 'svc id ls')
    } else if (argument.startsWith('--id=')) id = argument.slice('--id='.length)
    else {
      rest.push(argument)
      // the value of a valued flag may itself be "--id"; it belongs to the flag
      if (isValuedFlag(argument) && i + 1 < argv.length) rest.push(argv[++i] as string)
    }
  }
  return { id, rest }
}

const valuedFlags = new Set(
  commands.flatMap(row => (row.flags ?? []).filter(flag => flag.value).map(flag => flag.name as string)),
)
const isValuedFlag = (argument: string) => valuedFlags.has(argument)

function findCommand(words: readonly string[]): { row: CommandRow; consumed: number } {
  const head = [groupAliases[words[0] as string] ?? (words[0] as string), ...words.slice(1)]
  for (let count = Math.min(WORDS_MAX, head.length); count > 0; count--) {
    const row = findExact(head.slice(0, count).join(' '))
    if (row !== undefined) return { row, consumed: count }
  }
  const group = groupDefaults[head[0] as string]
  const verb = head[1]
  if (group !== undefined && (verb === undefined || verb.startsWith('--'))) {
    return { row: findExact(group) as CommandRow, consumed: 1 }
  }
  const first = words[0] as string
  if (first.startsWith('--')) throw unknownFlag(first, findExact('help') as CommandRow)
  const wanted = group === undefined ? first : head.slice(0, 2).join(' ')
  const near = nearest(wanted)
  throw new CommandFailed(`unknown command: ${wanted}`, near === undefined ? 'svc help' : `svc ${near}`)
}

function findExact(path: string): CommandRow | undefined {
  return commands.find(row => callPaths(row).includes(path))
}

function parsed(row: CommandRow, words: readonly string[], id: string | undefined): Parsed {
  const flags = new Map<string, string[]>()
  const positionals: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string
    if (word === '--') {
      positionals.push(...words.slice(i + 1))
      break
    }
    const flag = (row.flags ?? []).find(known => known.short === word)
    if (flag !== undefined) addFlag(row, flags, flag, 'true')
    else if (word.startsWith('--')) i += readFlag(row, flags, word, words[i + 1])
    else positionals.push(word)
  }
  checkPositionals(row, positionals)
  return { row, input: { id, flags, positionals } }
}

function readFlag(
  row: CommandRow,
  flags: Map<string, string[]>,
  word: string,
  following: string | undefined,
): 0 | 1 {
  const [name, ...inline] = word.split('=') as [string, ...string[]]
  const flag = (row.flags ?? []).find(known => known.name === name)
  if (flag === undefined) throw unknownFlag(name, row)
  if (flag.value === undefined) {
    if (inline.length > 0) throw new CommandFailed(`${name} takes no value`, `svc help ${row.path}`)
    addFlag(row, flags, flag, 'true')
    return 0
  }
  const value = inline.length > 0 ? inline.join('=') : following
  if (value === undefined)
    throw new CommandFailed(`missing value: ${name} <${flag.value}>`, `svc help ${row.path}`)
  addFlag(row, flags, flag, value)
  return inline.length > 0 ? 0 : 1
}

function addFlag(row: CommandRow, flags: Map<string, string[]>, flag: Flag, value: string): void {
  if (flag.values !== undefined && !flag.values.includes(value)) {
    throw new CommandFailed(
      `expected ${flag.values.join(' or ')} for ${flag.name}, got "${value}"`,
      `svc help ${row.path}`,
    )
  }
  const given = flags.get(flag.name)
  if (given === undefined) flags.set(flag.name, [value])
  else if (flag.repeat) given.push(value)
  else throw new CommandFailed(`${flag.name} was given more than once`, `svc help ${row.path}`)
}

function unknownFlag(name: string, row: CommandRow): CommandFailed {
  return new CommandFailed(
    `unknown flag ${name} for "${row.path}"; accepted: ${acceptedFlags(row).join(', ')}`,
    undefined,
    2,
  )
}

function checkPositionals(row: CommandRow, given: readonly string[]): void {
  const known = row.positionals ?? []
  const missing = known[given.length]
  if (missing?.required)
    throw new CommandFailed(`missing argument: <${missing.name}>`, `svc help ${row.path}`)
  if (given.length > known.length && !known.at(-1)?.repeat) {
    const extra = given[known.length] as string
    throw new CommandFailed(
      `unexpected argument: ${extra}; put text of several words in quotes`,
      `svc help ${row.path}`,
    )
  }
}

function nearest(word: string): string | undefined {
  const scored = commands
    .flatMap(row => callPaths(row))
    .map(path => ({ path, distance: editDistance(word, path) }))
    .sort((a, b) => a.distance - b.distance)
  const best = scored[0]
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3))
    ? best.path
    : undefined
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
