/** A hub asked from the command line, over real sockets: whatever it does, the command ends and says why. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { processIo } from '../io.ts'
import { hubSend } from './hub.ts'

let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

async function hubThat(answers: RequestListener): Promise<string> {
  server = createServer(answers).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function ask(url: string, timeoutMs: number) {
  const said: string[] = []
  const io = {
    ...processIo(),
    env: { TERM: 'dumb' },
    onTerminal: true,
    err: (text: string) => said.push(text),
  }
  const send = hubSend(io, timeoutMs)
  const ended = await send({ method: 'GET', url: `${url}/hub/identity`, headers: {} }).then(
    response => String(response.status),
    (error: Error) => error.message,
  )
  return { said, ended }
}

test('a silent one is named within a second or so, and the command ends with a sentence', async () => {
  const url = await hubThat(() => undefined)
  expect(await ask(url, 1_200)).toEqual({
    said: [`svc: waiting for ${url} …\n`],
    ended: `${url} did not answer within 1.2 s`,
  })
})

test('one that answers a byte at a time has no longer', async () => {
  const url = await hubThat((_request, response) => {
    const timer = setInterval(() => response.write(' '), 20)
    response.once('close', () => clearInterval(timer))
  })
  expect((await ask(url, 200)).ended).toBe(`${url} did not answer within 0.2 s`)
})

test('an answer without end is not read to it', async () => {
  const url = await hubThat((_request, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024)));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  })
  expect((await ask(url, 20_000)).ended).toBe(`the answer of ${url} is too large`)
})

test('one that answers at once is not waited for', async () => {
  const url = await hubThat((_request, response) => response.end('{}'))
  expect(await ask(url, 1_000)).toEqual({ said: [], ended: '200' })
})
