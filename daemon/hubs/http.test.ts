/** Connections of a node to hubs, over real sockets. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { Send } from '../../protocol/contract/client.ts'
import { describe as say } from './failures.ts'
import { Connections } from './http.ts'

test('a call that ends because the node stops does not blame the hub', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const connections = new Connections()
  try {
    const sends = [connections.signed, connections.mail('a recipient'), connections.question]
    const arrived = once(server, 'request')
    const calls = sends.map(send => send({ method: 'GET', url, headers: {} }).catch(say))
    await arrived
    await connections.close()
    const later = await connections.signed({ method: 'GET', url, headers: {} }).catch(say)
    expect([...(await Promise.all(calls)), later]).toEqual(Array(4).fill('this node is stopping'))
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

describe('what connections tell a hub', () => {
  /** Which connection each call came over, in the order of the calls. */
  const overEach = async (calls: (connections: Connections) => Send[]): Promise<number[]> => {
    const ports: number[] = []
    const server = createServer((request, response) => {
      ports.push(request.socket.remotePort ?? 0)
      response.end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const connections = new Connections()
    try {
      for (const send of calls(connections)) await (await send({ method: 'GET', url, headers: {} })).text()
    } finally {
      await connections.close()
      server.close()
    }
    const seen = [...new Set(ports)]
    return ports.map(port => seen.indexOf(port))
  }

  test('mail to one recipient shares no connection with mail to another, nor with what is signed', async () => {
    const used = await overEach(all => [0, 1].flatMap(() => [all.mail('bob'), all.mail('carol'), all.signed]))
    expect(used).toEqual([0, 1, 2, 0, 1, 2])
  })

  test('a question goes over a connection of its own, never over one that carried mail or another question', async () => {
    const used = await overEach(all => [
      all.mail('bob'),
      all.question,
      all.mail('bob'),
      all.question,
      all.question,
    ])
    expect(used).toEqual([0, 1, 0, 2, 3])
  })
})
