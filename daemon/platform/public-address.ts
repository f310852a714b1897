/**
 * Which addresses belong to the public network. The attacker names a host that this machine is to call, so that it calls what
 * stands behind it: what a name resolves to is judged at the moment of the connection.
 */
import { lookup as resolveName } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

const closedTo = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  closedTo.addSubnet(net, bits, 'ipv4')
// addresses that lead to one of the others
closedTo.addSubnet('2001::', 23, 'ipv6')
closedTo.addSubnet('2001:db8::', 32, 'ipv6')
closedTo.addSubnet('2002::', 16, 'ipv6')
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')

/** Whether an address belongs to the public network. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !closedTo.check(address, 'ipv4')
  return isIP(address) === 6 && global6.check(address, 'ipv6') && !closedTo.check(address, 'ipv6')
}

/** Whether the host of an address is a number, and not one of the public network. */
export function isPrivateHost({ hostname }: URL): boolean {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(literal) !== 0 && !isPublicAddress(literal)
}

/** Whether somebody listed the host of an address, with its port or without one. */
export const isListedHost = ({ host, hostname }: URL, hosts: readonly string[]): boolean =>
  hosts.some(listed => listed === host || listed === hostname)

/** Resolves names; one of whose addresses is not public is refused, so that none of them is tried. */
export const publicOnly =
  (refused: () => Error): LookupFunction =>
  (host, options, done) =>
    resolveName(host, { ...options, all: true }, (error, found) => {
      const [first] = found ?? []
      if (error !== null || first === undefined) return done(error ?? refused(), '', 0)
      if (!found.every(({ address }) => isPublicAddress(address))) return done(refused(), '', 0)
      if (options.all === true) return done(null, found)
      done(null, first.address, first.family)
    })
