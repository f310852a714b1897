/** The entry of our server among the servers of another program: whether it is ours, and what its owner added to it. */
import { basename } from 'node:path'

export type Entry = Readonly<Record<string, unknown>>
/** Whose entry it is shows in what it runs: this program, wherever it was when it was written. */
type Program = { readonly program: string; readonly id: string | undefined }

/** Members that say how the server is started, or what it is trusted with; of all others the owner's stay. */
const OURS = ['type', 'command', 'args', 'trust']
/** Whether a node is started where none runs; the second was said by releases before 0.4. */
const STARTS = ['--start', '--no-start']
const ENVIRONMENTS = ['env', 'environment']

/** What is to stand where `held` stands: `wanted` with what its owner added; undefined for somebody else's entry. */
export function mergedEntry(held: unknown, wanted: Entry, ours: Program): Entry | undefined {
  const added = isEntry(held) ? addedWords(wordsOf(held), ours) : undefined
  if (!isEntry(held) || added === undefined || urlOf(held) !== undefined) return undefined
  const merged: Record<string, unknown> = { ...wanted, ...held, ...started(wanted, added) }
  for (const name of OURS) if (!(name in wanted)) delete merged[name]
  for (const name of ENVIRONMENTS.filter(name => name in wanted))
    merged[name] = { ...(isEntry(held[name]) ? held[name] : {}), ...(wanted[name] as Entry) }
  const order = [...Object.keys(held), ...Object.keys(merged)].filter(name => name in merged)
  return Object.fromEntries(order.map(name => [name, merged[name]]))
}

/** What an entry of somebody else's leads to, for its owner to know it by. */
export function targetOf(held: unknown): string {
  const target = isEntry(held) ? (urlOf(held) ?? wordsOf(held)[0]) : undefined
  return target ?? JSON.stringify(held)
}

function started(wanted: Entry, added: readonly string[]): Entry {
  const words = [...wordsOf(wanted), ...added]
  const how = Array.isArray(wanted['command'])
    ? { command: words }
    : { command: words[0], args: words.slice(1) }
  return {
    ...Object.fromEntries(OURS.flatMap(name => (name in wanted ? [[name, wanted[name]]] : []))),
    ...how,
  }
}

/** The words after our program less those that are ours, and less the identity where one is selected now. */
export function addedWords(words: readonly string[], { program, id }: Program): string[] | undefined {
  const [first = ''] = words
  const at = words.findIndex(
    (word, n) =>
      word === program ||
      basename(word) === 'svc.js' ||
      (n === 0 ? basename(word) === 'svc' : word === 'svc' && basename(first) === 'npx'),
  )
  const rest = words.slice(at + 1)
  const mcp = rest.indexOf('mcp')
  if (at < 0 || mcp < 0) return undefined
  const added = rest.toSpliced(mcp, 1).filter(word => !STARTS.includes(word))
  if (id === undefined) return added
  const isId = (word: string | undefined) => word === '--id'
  return added.filter((word, n) => !isId(word) && !isId(added[n - 1]) && !word.startsWith('--id='))
}

/** The command of an entry and its arguments; none of what is no entry. */
export function wordsOf(held: unknown): string[] {
  const { command, args } = isEntry(held) ? held : {}
  const words = [command, args].flat()
  return words.filter(word => typeof word === 'string')
}

export function environmentOf(held: unknown): Record<string, string> {
  const members = ENVIRONMENTS.flatMap(name => {
    const given = isEntry(held) ? held[name] : undefined
    return isEntry(given) ? Object.entries(given) : []
  })
  return Object.fromEntries(
    members.filter((member): member is [string, string] => typeof member[1] === 'string'),
  )
}

function urlOf(held: Entry): string | undefined {
  const url = held['url'] ?? held['httpUrl']
  return typeof url === 'string' ? url : undefined
}

const isEntry = (value: unknown): value is Entry =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
