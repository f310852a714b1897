/** A peer that is only a key and a server: it says who it is, and that nobody is there. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Identity } from './objects.ts'

export type MadeUpPeer = { identity: Identity; url: string; close(): void }

export async function openPeer(): Promise<MadeUpPeer> {
  const identity = new Identity()
  const server = createServer(({ url }, response) => {
    const told = { cursor: 0, cards: [], reviews: [] }
    const answer = url === '/hub/identity' ? { aid: identity.aid, kel: identity.kel } : told
    response.writeHead(200, { 'Content-Type': 'application/json', 'X-Svc-Wire': '1' })
    response.end(JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    identity,
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
