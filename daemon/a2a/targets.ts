/**
 * Which addresses the node calls for a client of A2A: https of public hosts, and hosts that its owner listed. The
 * attacker is a client, or what it read, that would have the node call what stands behind it: what a name resolves to is
 * judged at the moment of the connection, and nothing is followed.
 */
import * as http from 'node:http'
import * as https from 'node:https'
import { Failure } from '../../protocol/encoding/errors.ts'
import { isListedHost, isPrivateHost, publicOnly } from '../platform/public-address.ts'

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
  const isListed = isListedHost(url, hosts)
  if (isListed) return { url, isListed }
  if (url.protocol !== 'https:')
    throw new TargetRefused(
      'only https is called; the owner of this node can allow a host: svc a2a on --push-host HOST',
    )
  if (isPrivateHost(url)) throw new TargetRefused(NOT_PUBLIC)
  return { url, isListed }
}

const NOT_PUBLIC =
  'the host is not of the public network; the owner of this node can allow it: svc a2a on --push-host HOST'

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
        ...(!isListed && { lookup: publicOnly(() => new TargetRefused(NOT_PUBLIC)) }),
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
