/**
 * Whose process holds the other end of a connection over loopback. A port of loopback is open to every user of the
 * machine; the kernel knows, and on Linux says, which of them it is.
 */
import { readFile } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { endianness } from 'node:os'

/**
 * `unknown`: this system does not say it, the connection was not found, or root holds it, which passes on what others
 * send (a port of a container, the relay of a virtual machine).
 */
export type PeerUser = 'same' | 'other' | 'unknown'

type Ends = {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  readonly localAddress?: string | undefined
  readonly localPort?: number | undefined
}

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']
const ESTABLISHED = '01'
/** Columns of a row behind its two ends and its state. */
const USER = 3
/** A row of an established connection: its two ends and its state, and its user. */
const ROW = /^ *\d+:( [0-9A-F]+:[0-9A-F]{4} [0-9A-F]+:[0-9A-F]{4} 01 )(?:\S+ +){3}(\d+)/gm
const ROOT = 0
/** The table is read in parts while the kernel changes it, so that a row can be missed. */
const LOOKS = 3

/** `tables`: where the connections stand; `own`: the user of this process. */
export async function peerUser(
  ends: Ends,
  tables: readonly string[] = TABLES,
  own = process.getuid?.(),
): Promise<PeerUser> {
  const rows = rowsOf(ends)
  if (own === undefined || rows.length === 0) return 'unknown'
  for (let look = 0; look < LOOKS; look++) {
    for (const table of tables) {
      const uid = userIn(await textOf(table), rows)
      if (uid !== undefined) return judged(uid, own)
    }
  }
  return 'unknown'
}

/** Whose of these connections are another user's, in one look at the tables: the user of each of those. */
export async function usersOf<E extends Ends>(
  connections: readonly E[],
  tables: readonly string[] = TABLES,
  own = process.getuid?.(),
): Promise<Map<E, number>> {
  const others = new Map<E, number>()
  if (own === undefined) return others
  const byRow = new Map<string, E>()
  for (const ends of connections) for (const row of rowsOf(ends)) byRow.set(row, ends)
  for (const table of tables)
    for (const [, row = '', uid = ''] of (await textOf(table)).matchAll(ROW)) {
      const ends = byRow.get(row)
      if (ends !== undefined && judged(Number(uid), own) === 'other') others.set(ends, Number(uid))
    }
  return others
}

function judged(uid: number, own: number): PeerUser {
  if (uid === own) return 'same'
  return uid === ROOT ? 'unknown' : 'other'
}

/** How the row of the other end begins, in each form that it may have. */
function rowsOf({ remoteAddress, remotePort, localAddress, localPort }: Ends): string[] {
  if (remoteAddress === undefined || localAddress === undefined) return []
  const mine = [...endForms(localAddress, localPort ?? 0)]
  return [...endForms(remoteAddress, remotePort ?? 0)].flatMap(peer =>
    mine.map(end => ` ${peer} ${end} ${ESTABLISHED} `),
  )
}

const textOf = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '')

/** The user of the socket of which a row begins so; found without taking every row apart, of which there may be many. */
function userIn(table: string, rows: readonly string[]): number | undefined {
  for (const row of rows) {
    const at = table.indexOf(row)
    if (at < 0) continue
    const [rest = ''] = table.slice(at + row.length).split('\n', 1)
    return Number(rest.trim().split(/\s+/)[USER])
  }
  return undefined
}

/** How the tables write an end: words of the machine's byte order in hex; IPv4 also as the IPv6 that stands for it. */
function endForms(address: string, port: number): Set<string> {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')
  const at = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  if (!isIPv4(plain)) return new Set([wordsOf(bytesOfIpv6(plain)) + at])
  const four = plain.split('.').map(Number)
  const mapped = [...Array<number>(10).fill(0), 255, 255, ...four]
  return new Set([wordsOf(four) + at, wordsOf(mapped) + at])
}

function bytesOfIpv6(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  return [...before, ...(tail === undefined ? [] : zeros), ...after].flatMap(group => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 255]
  })
}

function wordsOf(bytes: readonly number[]): string {
  const hex: string[] = []
  for (let i = 0; i < bytes.length; i += 4) {
    const word = bytes.slice(i, i + 4)
    if (endianness() === 'LE') word.reverse()
    hex.push(...word.map(byte => byte.toString(16).padStart(2, '0')))
  }
  return hex.join('').toUpperCase()
}
