/** Connections of a node to hubs, over real sockets. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { describe as say } from './failures.ts'
import { Connections } from './http.ts'

test('a call that ends because the node stops does not blame the hub', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const connections = new Connections()
  try {
    const sends = [connections.signed, connections.anonymous('a recipient')]
    const arrived = once(server, 'request')
    const calls = sends.map(send => send({ method: 'GET', url, headers: {} }).catch(say))
    await arrived
    await connections.close()
    const later = await connections.signed({ method: 'GET', url, headers: {} }).catch(say)
    expect([...(await Promise.all(calls)), later]).toEqual(Array(3).fill('this node is stopping'))
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
