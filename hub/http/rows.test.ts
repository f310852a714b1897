/** Lists that are read while they are written: by a reader at its own pace, until it goes. */
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { sendReply } from './reply.ts'
import { streamedLists } from './rows.ts'

const ROWS = 200_000
const WAIT = { timeout: 20_000, interval: 20 }
const row = { text: 'x'.repeat(200) }

let server: Server
let read = 0
let isEnded = false
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

async function* rows(count: number) {
  try {
    for (read = 0; read < count; read++) yield row
  } finally {
    isEnded = true
  }
}

async function asked(lists: () => Record<string, AsyncIterable<unknown>>): Promise<IncomingMessage> {
  isEnded = false
  server = createServer((_, response) => {
    sendReply(response, streamedLists({ name: 'ä' }, lists())).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const request = get({ port: (server.address() as AddressInfo).port })
  request.on('error', () => undefined)
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  return answer
}

test('an answer is one JSON object: its members, then its lists, also an empty one', async () => {
  const answer = await asked(() => ({ some: rows(3), none: rows(0) }))
  const json = await text(answer)
  expect(answer.headers['content-type']).toBe('application/json')
  expect(JSON.parse(json)).toEqual({ name: 'ä', some: [row, row, row], none: [] })
})

test('a reader that stops has no more rows read for it, and one that goes ends the reading', async () => {
  const answer = await asked(() => ({ rows: rows(ROWS) }))
  answer.pause()
  let before = -1
  await expect
    .poll(() => {
      const stands = read > 0 && read === before
      before = read
      return stands
    }, WAIT)
    .toBe(true)
  expect(read).toBeLessThan(ROWS)
  answer.destroy()
  await expect.poll(() => isEnded, WAIT).toBe(true)
  expect(read).toBeLessThan(ROWS)
})
