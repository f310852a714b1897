/**
 * Which addresses the node calls for a client of A2A: https of public hosts, and hosts that its owner listed. The
 * attacker is a client, or what it read, that would have the node call what stands behind it: what a name resolves to is
 * judged at the moment of the connection, and nothing is followed.
 */
import { lookup as resolveName } from 'node:dns'
import * as http from 'node:http'
import * as https from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Failure } from '../../protocol/encoding/errors.ts'

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

export class TargetRefused extends Failure {
  override name = 'TargetRefused'
}

/** The address to call; throws {@link TargetRefused} with a sentence for the client. `hosts`: those that the owner listed. */
export function targetOf(text: string, hosts: readonly string[]): { url: URL; isListed: boolean } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new TargetRefused('expected an address that begins with https://')
  if (url.username !== '' || url.password !== '')
    throw new TargetRefused('an address holds no password; give it as authentication')
  const isListed = hosts.some(host => host === url.host || host === url.hostname)
  if (isListed) return { url, isListed }
  if (url.protocol !== 'https:')
    throw new TargetRefused(
      'only https is called; the owner of this node can allow a host: svc a2a on --push-host HOST',
    )
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(literal) !== 0 && !isPublicAddress(literal)) throw new TargetRefused(NOT_PUBLIC)
  return { url, isListed }
}

const NOT_PUBLIC =
  'the host is not of the public network; the owner of this node can allow it: svc a2a on --push-host HOST'

/** Refuses a name as soon as one of its addresses is not public: none of them is tried then. */
const publicOnly: LookupFunction = (host, options, done) =>
  resolveName(host, { ...options, all: true }, (error, found) => {
    const [first] = found ?? []
    if (error !== null || first === undefined) return done(error ?? new TargetRefused('unknown host'), '', 0)
    if (!found.every(({ address }) => isPublicAddress(address)))
      return done(new TargetRefused(NOT_PUBLIC), '', 0)
    if (options.all === true) return done(null, found)
    done(null, first.address, first.family)
  })

/** Posts JSON to a target; resolves with the status of the answer, of which nothing else is read. */
export function post(
  target: ReturnType<typeof targetOf>,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<number> {
  const { url, isListed } = target
  const { request } = url.protocol === 'https:' ? https : http
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        method: 'POST',
        agent: false,
        headers: { ...headers, 'Content-Length': String(Buffer.byteLength(body)) },
        signal,
        ...(!isListed && { lookup: publicOnly }),
      },
      answer => {
        resolve(answer.statusCode ?? 0)
        answer.destroy()
      },
    )
    call.once('error', reject)
    call.end(body)
  })
}
