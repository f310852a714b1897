/** Client addresses as rate buckets see them: one IPv4 address, one IPv6 /64; wider ranges for sign-ups. */
import { isIPv4, isIPv6 } from 'node:net'

const GROUPS = 8
const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** The bucket of an address: itself for IPv4, its /64 for IPv6. */
export function addressBucket(address: string): string {
  return prefix(address, 4, 4)
}

/** The range that shares the daily sign-ups: IPv4 /24, IPv6 /48. */
export function addressRange(address: string): string {
  return prefix(address, 3, 3)
}

/** The two addresses at which a proxy on this machine stands; the others of the loopback network are ordinary ones. */
export function isProxy(address: string): boolean {
  const plain = MAPPED_IPV4.exec(address)?.[1] ?? address
  return plain === '::1' || plain === '127.0.0.1'
}

/** The last address that a proxy on this machine appended; anybody else's word about addresses counts for nothing. */
export function clientAddress(socketAddress: string, forwardedFor: string | undefined): string {
  if (forwardedFor === undefined || !isProxy(socketAddress)) return socketAddress
  const last = forwardedFor.split(',').at(-1)?.trim() ?? ''
  return isIPv4(last) || isIPv6(last) ? last : socketAddress
}

function prefix(address: string, ipv4Parts: number, ipv6Groups: number): string {
  const plain = MAPPED_IPV4.exec(address)?.[1] ?? address
  if (isIPv4(plain)) return plain.split('.').slice(0, ipv4Parts).join('.')
  if (!isIPv6(plain)) return plain
  return groupsOf(plain).slice(0, ipv6Groups).join(':')
}

/** The eight groups of an IPv6 address without leading zeros. */
export function groupsOf(address: string): string[] {
  const [head = '', tail] = (address.split('%')[0] as string).split('::')
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  const zeros = tail === undefined ? 0 : Math.max(0, GROUPS - before.length - after.length)
  const all = [...before, ...Array.from({ length: zeros }, () => '0'), ...after]
  return all.map(group => Number.parseInt(group, 16).toString(16))
}
