import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import * as net from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { directSend } from '../../protocol/contract/direct.ts'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { agent } from '../../protocol/testing/agents.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { callDirectly, NotDelivered } from './call.ts'

const HOST = '127.0.0.1'
const { aid } = agent('bob')
const letter = { to_aid: aid, from_aid: aid, kind: 'message' as const, interaction_id: '', payload: 'AAAA' }
const confirmation = new Uint8Array([1, 2, 3])
const taken = JSON.stringify({ status: 'taken', confirmation: toBase64(confirmation) })

let opened: (() => void)[] = []
afterEach(() => {
  for (const close of opened) close()
  opened = []
})

async function server(answer: http.RequestListener): Promise<string> {
  const made = http.createServer(answer)
  await new Promise<void>(done => made.listen(0, HOST, done))
  opened.push(() => made.close().closeAllConnections())
  return `${HOST}:${(made.address() as AddressInfo).port}`
}
const call = (address: string, hosts: readonly string[] = [HOST], signal = new AbortController().signal) =>
  callDirectly({ address, letter, hosts, timers: systemTimers, signal })

test('a letter is posted whole, and its confirmation comes back', async () => {
  const said: unknown[] = []
  const address = await server(async (request, response) => {
    let body = ''
    for await (const part of request) body += String(part)
    said.push(request.method, request.url, request.headers['content-type'], JSON.parse(body))
    response.end(taken)
  })
  expect(await call(address)).toEqual(confirmation)
  expect(said).toEqual(['POST', directSend.path, 'application/json', letter])
})

test.each<[string, http.RequestListener, string]>([
  ['answers another status', (_, answer) => answer.writeHead(202).end(taken), 'it answers 202'],
  [
    'leads elsewhere',
    (_, answer) => answer.writeHead(307, { Location: 'http://127.0.0.1:1/' }).end(taken),
    'it answers 307',
  ],
  ['says no JSON', (_, answer) => answer.end('taken'), 'its answer is none of an agent'],
  [
    'says another word',
    (_, answer) => answer.end(taken.replace('"taken"', '"queued"')),
    'its answer is none of an agent',
  ],
  [
    'confirms too much',
    (_, answer) =>
      answer.end(JSON.stringify({ status: 'taken', confirmation: toBase64(new Uint8Array(513)) })),
    'its answer is none of an agent',
  ],
  ['says too much', (_, answer) => answer.end(`${taken}${' '.repeat(5000)}`), 'its answer is too long'],
])('somebody who %s has taken nothing', async (_, answer, why) => {
  const called = call(
    await server((request, response) => {
      request.resume()
      answer(request, response)
    }),
  )
  await expect(called).rejects.toThrow(NotDelivered)
  await expect(called).rejects.toThrow(why)
})

test.each([
  ['127.0.0.1:1', 'not of the public network'],
  ['2130706433:1', 'not of the public network'],
  ['[::1]:1', 'not of the public network'],
  ['169.254.169.254:80', 'not of the public network'],
  ['localhost:1', 'not of the public network'],
  ['256.256.256.256:1', 'its address is none'],
])('%s is not called', async (address, why) => {
  await expect(call(address, [])).rejects.toThrow(why)
})

test('a host that is listed at one port is called at no other', async () => {
  const address = await server((_, response) => response.end(taken))
  await expect(call(address, ['127.0.0.1:1'])).rejects.toThrow('not of the public network')
  expect(await call(address, [address])).toEqual(confirmation)
})

test('a call ends with the node', async () => {
  const silent = net.createServer()
  await new Promise<void>(done => silent.listen(0, HOST, done))
  opened.push(() => silent.close())
  const ending = new AbortController()
  const called = call(`${HOST}:${(silent.address() as AddressInfo).port}`, [HOST], ending.signal)
  setTimeout(() => ending.abort(), 50)
  await expect(called).rejects.toThrow()
})
