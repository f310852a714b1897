/**
 * From an argument list to the row of the table that it calls: the longest path or alias, `--id` from before or between
 * its words, and a wish for help. What follows is left as it is for the parser.
 */

import { nearest } from '../protocol/shell.ts'
import { type CommandRow, callPaths, GLOBAL_FLAGS, HUMAN_FLAG, ID_FLAG } from './command.ts'
import { UsageRefused } from './io.ts'
import { commands, groupAliases, groupDefaults } from './table.ts'

const WORDS_MAX = 3

/** A row, the words behind its path, and whether the reply is for a person. */
export type Found = { row: CommandRow; words: readonly string[]; human: boolean }

/** Finds the command; throws {@link UsageRefused} with the nearest one where there is none. */
export function findCommand(argv: readonly string[]): Found {
  const end = argv.indexOf('--')
  const isHuman = (word: string, n: number) => word === HUMAN_FLAG.name && (end < 0 || n < end)
  const words = argv.filter((word, n) => !isHuman(word, n))
  return { ...findIn(words), human: words.length < argv.length }
}

function findIn(argv: readonly string[]): Omit<Found, 'human'> {
  const { head, moved, rest } = splitHead(argv)
  if (head.length === 0 && rest.length === 0) return { row: rowOf('help'), words: moved }
  if (isHelp(argv[0])) return { row: rowOf('help'), words: topicOf(splitHead(argv.slice(1)).head) }
  const end = argv.indexOf('--')
  if ((end < 0 ? argv : argv.slice(0, end)).some(isHelp)) return { row: rowOf('help'), words: topicOf(head) }
  const { row, consumed } = match(head, rest[0])
  return { row, words: [...moved, ...head.slice(consumed), ...rest] }
}

const isHelp = (word: string | undefined) => word === '-h' || word === '--help'

/** The words of a line that name a command or a group of them. */
function topicOf(head: readonly string[]): readonly string[] {
  const words = head[0]?.startsWith('-') ? [] : head
  for (let count = words.length; count > 0; count--)
    if (inGroup(words.slice(0, count)).length > 0 || findExact(words.slice(0, count).join(' ')) !== undefined)
      return words.slice(0, count)
  return words
}

/** The rows that these words name: those of a group, one command, or a refusal with the nearest. */
export function commandsNamed(words: readonly string[]): readonly CommandRow[] {
  const group = inGroup(words)
  return group.length > 0 ? group : [match(words, undefined).row]
}

function inGroup(words: readonly string[]): CommandRow[] {
  const path = [groupAliases[words[0] as string] ?? words[0], ...words.slice(1)].join(' ')
  return commands.filter(row => row.path === path || row.path.startsWith(`${path} `))
}

/** The first word that names a command. */
export const groupOf = (argv: readonly string[]): string | undefined => splitHead(argv).head[0]

/** The words that may name a command; `--id NAME` among them goes behind them. */
function splitHead(argv: readonly string[]): { head: string[]; moved: string[]; rest: readonly string[] } {
  const head: string[] = []
  const moved: string[] = []
  let i = 0
  for (; i < argv.length && head.length < WORDS_MAX; i++) {
    const word = argv[i] as string
    if (word === ID_FLAG.name) moved.push(...argv.slice(i, ++i + 1))
    else if (word.startsWith(`${ID_FLAG.name}=`)) moved.push(word)
    else if (word.startsWith('-') && head.length > 0) break
    else head.push(word)
  }
  return { head, moved, rest: argv.slice(i) }
}

function match(words: readonly string[], next: string | undefined): { row: CommandRow; consumed: number } {
  const first = words[0] ?? (next as string)
  const head = [groupAliases[first] ?? first, ...words.slice(1)]
  for (let count = head.length; count > 0; count--) {
    const row = findExact(head.slice(0, count).join(' '))
    if (row !== undefined) return { row, consumed: count }
  }
  const group = groupDefaults[head[0] as string]
  if (group !== undefined && head.length === 1) return { row: rowOf(group), consumed: 1 }
  if (first.startsWith('--')) throw unknownFlag(first, rowOf('help'))
  const wanted = group === undefined ? first : head.slice(0, 2).join(' ')
  const near = nearest(wanted, commands.filter(row => row.destroys === undefined).flatMap(callPaths))
  throw new UsageRefused(`unknown command: ${wanted}`, near === undefined ? 'svc help' : `svc ${near}`)
}

const findExact = (path: string) => commands.find(row => callPaths(row).includes(path))
const rowOf = (path: string) => findExact(path) as CommandRow

/** The refusal of a flag that the command does not have, with the nearest and the list of those it has. */
export function unknownFlag(name: string, row: CommandRow): UsageRefused {
  const accepted = [...(row.flags ?? []), ...GLOBAL_FLAGS].map(flag => flag.name)
  const near = nearest(bare(name), accepted.map(bare))
  const meant = near === undefined ? '' : `the nearest is --${near}; `
  return new UsageRefused(`unknown flag ${name} for "${row.path}"; ${meant}accepted: ${accepted.join(', ')}`)
}

const bare = (flag: string): string => flag.replace(/^-+/, '')
