/**
 * One port at both addresses of this machine. Browsers look for a name of the machine at either of them, so whoever has
 * the other one is taken for us, and can pass on to its owner's page what we answer.
 */
import type * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemCode } from '../../protocol/encoding/errors.ts'
import { closed, listening, listeningOn, type Wanted } from './http.ts'

const PORTS_TRIED_MAX = 8
const OTHER: Readonly<Record<string, string>> = { '127.0.0.1': '::1', '::1': '127.0.0.1' }
/** This machine has no such address, so nobody else can have it either. */
const WITHOUT_IT = ['EADDRNOTAVAIL', 'EAFNOSUPPORT']

/** Whoever asked for any port takes any other as well. */
const anyAgain = (port: number) => (port === 0 ? async () => 0 : undefined)

/**
 * Listens with `server` on the host, and with `beside` on the same port of the other loopback address, where the host is
 * one of both. `isAlone`: somebody else has that one, and there is no other port.
 */
export async function listenOnBoth(
  server: http.Server,
  beside: http.Server,
  { host, port, otherPort = anyAgain(port), timers }: Wanted,
): Promise<{ port: number; isAlone: boolean }> {
  for (let attempt = 1, at = port; ; attempt++) {
    await listeningOn(server, { host, port: at, otherPort, timers })
    const { address, port: bound } = server.address() as AddressInfo
    const other = OTHER[address]
    if (other === undefined || (await listens(beside, other, bound))) return { port: bound, isAlone: false }
    if (otherPort === undefined || attempt === PORTS_TRIED_MAX) return { port: bound, isAlone: true }
    await closed(server, timers)
    at = await otherPort()
  }
}

async function listens(server: http.Server, host: string, port: number): Promise<boolean> {
  try {
    await listening(server, () => server.listen({ host, port, ipv6Only: true }))
    return true
  } catch (error) {
    return WITHOUT_IT.includes(systemCode(error) ?? '')
  }
}
