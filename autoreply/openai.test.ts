import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openAiBackend } from './openai.ts'
import { random, requestOf } from './testing.ts'

type Seen = {
  authorization: string | undefined
  body: { model: string; messages: { role: string; content: string }[] }
}
let server: Server
let base: string
const seen: Seen[] = []

/** A model server on loopback: it answers by the words of the last message. */
beforeAll(async () => {
  server = createServer((request, response) => {
    let text = ''
    request.on('data', chunk => {
      text += String(chunk)
    })
    request.on('end', () => {
      const body = JSON.parse(text) as Seen['body']
      seen.push({ authorization: request.headers.authorization, body })
      const last = body.messages.at(-1)?.content ?? ''
      if (last.includes('break')) response.writeHead(500).end('{"error":{"message":"down"}}')
      else if (last.includes('hang')) return
      else {
        const content = last.includes('silence') ? '' : `echo ${body.messages.length}`
        response.setHeader('content-type', 'application/json')
        response.end(
          JSON.stringify({
            id: 'x',
            object: 'chat.completion',
            created: 1,
            model: body.model,
            choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
          }),
        )
      }
    })
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const backend = () =>
  openAiBackend({ apiBase: base, apiKey: 'key-1', model: 'small', timeoutMs: 5_000, random })
const never = new AbortController().signal

describe('the openai backend', () => {
  test('sends the conversation to any compatible server and takes its answer', async () => {
    const turns = [
      { role: 'peer' as const, text: 'first', attachments: [] },
      { role: 'me' as const, text: 'answered', attachments: [] },
      { role: 'peer' as const, text: 'second', attachments: [] },
    ]
    expect(await backend().reply(requestOf('', { turns, systemPrompt: 'be brief' }), never)).toEqual({
      text: 'echo 2',
    })
    const { authorization, body } = seen.at(-1) as Seen
    expect(authorization).toBe('Bearer key-1')
    expect(body.model).toBe('small')
    expect(body.messages.map(message => message.role)).toEqual(['system', 'user'])
    expect(body.messages[0]?.content).toContain('be brief')
    expect(body.messages[1]?.content).toMatch(
      /^<peer (\w{16})>\nfirst\n<\/peer \1>\n\n<answer \1>\nanswered\n<\/answer \1>\n\n<peer \1>\nsecond\n<\/peer \1>$/,
    )
  })

  test.each([
    ['an error of the server', 'break'],
    ['an empty answer', 'silence'],
  ])('%s is a failure', async (_, words) => {
    await expect(backend().reply(requestOf(words), never)).rejects.toMatchObject({ name: 'BackendFailed' })
  })

  test('an ended request is a failure at once', async () => {
    await expect(backend().reply(requestOf('hang'), AbortSignal.timeout(50))).rejects.toMatchObject({
      name: 'BackendFailed',
    })
  })

  test('needs a model', () => {
    expect(() =>
      openAiBackend({ apiBase: base, apiKey: undefined, model: undefined, timeoutMs: 1, random }),
    ).toThrow(/--model/)
  })
})
