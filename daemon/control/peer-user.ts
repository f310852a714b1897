/**
 * Whose process holds the other end of a connection over loopback. A port of loopback is open to every user of the
 * machine; the kernel knows, and on Linux says, which of them it is.
 */
import { isIPv4 } from 'node:net'
import { endianness } from 'node:os'
import { systemTimers } from '../../protocol/timers.ts'
import { type Holder, Lookups } from './peer-table.ts'

/**
 * `nobody`: the system says whose its connections are, and no process holds the other end any more. `unknown`: it does not
 * say it, or root holds the other end, which passes on what others send (a port of a container, the relay of a virtual
 * machine).
 */
export type PeerUser = 'same' | 'other' | 'nobody' | 'unknown'

type Ends = {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  readonly localAddress?: string | undefined
  readonly localPort?: number | undefined
  readonly destroyed?: boolean
}

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']
const ROOT = 0
/** One for the process, so that the tables are read for all who wait. */
const shared = new Lookups(TABLES, systemTimers)

/** `tables`: where the connections stand; `own`: the user of this process. */
export async function peerUser(
  ends: Ends,
  tables: readonly string[] = TABLES,
  own = process.getuid?.(),
): Promise<PeerUser> {
  const holder = own === undefined ? undefined : await holderOf(ends, tables)
  if (own === undefined || holder === undefined) return 'unknown'
  return holder === 'nobody' ? holder : judged(holder, own)
}

/**
 * Which of these connections are not this user's, in one look at the tables: the user of each of those, or undefined
 * where nobody holds the other end.
 */
export async function usersOf<E extends Ends>(
  connections: readonly E[],
  tables: readonly string[] = TABLES,
  own = process.getuid?.(),
): Promise<Map<E, number | undefined>> {
  const others = new Map<E, number | undefined>()
  if (own === undefined) return others
  const holders = await Promise.all(
    connections.map(async ends => [ends, await holderOf(ends, tables)] as const),
  )
  for (const [ends, holder] of holders) {
    if (holder === 'nobody') others.set(ends, undefined)
    else if (holder !== undefined && judged(holder, own) === 'other') others.set(ends, holder)
  }
  return others
}

function holderOf(ends: Ends, tables: readonly string[]): Promise<Holder> {
  const lookups = tables === TABLES ? shared : new Lookups(tables, systemTimers)
  const { theirs, ours } = pairsOf(ends)
  // only what comes from this machine has its other end in the tables
  const isHere = isLoopback(ends.remoteAddress) || ends.remoteAddress === ends.localAddress
  return lookups.find({ theirs, ours: isHere ? ours : [], isGone: () => ends.destroyed === true })
}

export const isLoopback = (address = ''): boolean => address === '::1' || /^(?:::ffff:)?127\./i.test(address)

function judged(uid: number, own: number): PeerUser {
  if (uid === own) return 'same'
  return uid === ROOT ? 'unknown' : 'other'
}

/** How the tables name the connection, from the other end and from ours, in each form that it may have. */
function pairsOf({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
}: Ends): Record<'theirs' | 'ours', string[]> {
  if (remoteAddress === undefined || localAddress === undefined) return { theirs: [], ours: [] }
  const mine = [...endForms(localAddress, localPort ?? 0)]
  const pairs = [...endForms(remoteAddress, remotePort ?? 0)].flatMap(peer => mine.map(end => [peer, end]))
  return {
    theirs: pairs.map(([peer, end]) => `${peer} ${end}`),
    ours: pairs.map(([peer, end]) => `${end} ${peer}`),
  }
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
