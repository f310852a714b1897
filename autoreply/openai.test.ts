import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** A completion as a server gives it. */
const completion = (content: unknown, finish_reason = 'stop') => ({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'small',
  choices: [{ index: 0, finish_reason, message: { role: 'assistant', content } }],
})
const json = (response: ServerResponse, value: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

/** What the server does by a word of the request. */
const answers: Record<string, (response: ServerResponse, body: Seen['body']) => void> = {
  break: response => json(response, { error: { message: 'down' } }, 500),
  key: response => json(response, { error: { message: 'wrong key: key-1' } }, 401),
  hang: () => undefined,
  silence: response => json(response, completion('')),
  'aloud first': response => json(response, completion('<think>so it\nis</think>\n\nThe sum is 6.')),
  'aloud last': response => json(response, completion('so it is</think>The sum is 6.')),
  'aloud only': response => json(response, completion('<think>and on and on')),
  lengthy: response => json(response, completion('one, two,', 'length')),
  page: response => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>welcome</html>'),
  nothing: response => json(response, {}),
  list: response => json(response, [completion('x')]),
  parts: response => json(response, completion([{ type: 'text', text: 'x' }])),
  flood(response) {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024, ' ')));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  },
  drip(response) {
    response.writeHead(200, { 'content-type': 'application/json' })
    const timer = setInterval(() => response.write(' '), 20)
    response.once('close', () => clearInterval(timer))
  },
  counted: (response, body) =>
    json(response, { ...completion(`echo ${body.messages.length}`), usage: { total_tokens: 12 } }),
  '': (response, body) => json(response, completion(`echo ${body.messages.length}`)),
}

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
      const last = JSON.stringify(body.messages.at(-1)?.content ?? '')
      const said = Object.entries(answers).find(([words]) => last.includes(words))?.[1] ?? answers['']
      said?.(response, body)
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

  test('sends the images of the other party, the newest as far as they fit, and says what it cost', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-images-'))
    const image = (name: string, bytes = 3, mediaType = 'image/png') => {
      const path = join(folder, name)
      writeFileSync(path, name)
      return { name, mediaType, bytes, path }
    }
    const MIB = 1024 * 1024
    const turns = [
      { role: 'peer' as const, text: 'old', attachments: [image('old', 8 * MIB)] },
      { role: 'me' as const, text: 'mine', attachments: [image('mine')] },
      { role: 'peer' as const, text: 'counted', attachments: [image('a', 8 * MIB), image('b', MIB)] },
      {
        role: 'peer' as const,
        text: 'counted',
        attachments: [image('large', 8 * MIB + 1), image('c.pdf', 3, 'application/pdf'), image('c')],
      },
    ]
    expect(await backend().reply(requestOf('', { turns }), never)).toEqual({
      text: 'echo 2',
      cost: '12 tokens',
    })
    const parts = seen.at(-1)?.body.messages[1]?.content as unknown as { image_url?: { url: string } }[]
    expect(parts.slice(1).map(part => part.image_url?.url)).toEqual(
      ['a', 'b', 'c'].map(name => `data:image/png;base64,${Buffer.from(name).toString('base64')}`),
    )
    rmSync(folder, { recursive: true })
  })

  test.each([
    ['an error of the server', 'break'],
    ['an empty answer', 'silence'],
  ])('%s is a failure', async (_, words) => {
    await expect(backend().reply(requestOf(words), never)).rejects.toMatchObject({ name: 'BackendFailed' })
  })

  test.each(['hang', 'drip'])('an ended request is a failure at once: %s', async words => {
    await expect(backend().reply(requestOf(words), AbortSignal.timeout(80))).rejects.toMatchObject({
      name: 'BackendFailed',
    })
  })

  test('an answer without end is not read to it', async () => {
    const before = process.memoryUsage().rss
    await expect(backend().reply(requestOf('flood'), never)).rejects.toThrow(/more than 4 MiB/)
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024)
  })

  test.each([
    ['aloud first', 'The sum is 6.'],
    ['aloud last', 'The sum is 6.'],
    ['lengthy', 'one, two,\n\n[The answer was cut here: the model reached its limit of length.]'],
  ])('what a model thinks is no part of its answer, and a cut one says so: %s', async (words, text) => {
    expect(await backend().reply(requestOf(words), never)).toEqual({ text })
  })

  test.each([
    ['page', /is not a chat completion; check --api-base/],
    ['nothing', /is not a chat completion; check --api-base/],
    ['list', /is not a chat completion; check --api-base/],
    ['parts', /is not text/],
    ['aloud only', /empty answer/],
  ])('what is no answer is a failure with its reason: %s', async (words, reason) => {
    await expect(backend().reply(requestOf(words), never)).rejects.toThrow(reason)
  })

  test('a refusal that repeats the key is told without it', async () => {
    const failed = await backend().reply(requestOf('key'), never).catch(String)
    expect(failed).toContain('401')
    expect(failed).not.toContain('key-1')
  })

  test('a server that is not there is named, without what may be secret in its address', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => closed.once('listening', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise(resolve => closed.close(resolve))
    const apiBase = `http://127.0.0.1:${port}/v1/?key=secret`
    const gone = openAiBackend({ apiBase, apiKey: undefined, model: 'small', timeoutMs: 5_000, random })
    await expect(gone.reply(requestOf(''), never)).rejects.toThrow(
      `the model server http://127.0.0.1:${port}/v1 failed: nothing listens there`,
    )
    await expect(backend().reply(requestOf('break'), never)).rejects.toThrow(
      `the model server ${base} failed: 500`,
    )
  })

  test('an address with a password in it is refused: the key has a flag of its own', () => {
    const apiBase = 'http://me:secret@127.0.0.1/v1'
    const made = () => openAiBackend({ apiBase, apiKey: undefined, model: 'small', timeoutMs: 5_000, random })
    expect(made).toThrow(/without a user and a password.*--api-key/)
    expect(made).not.toThrow(/secret/)
  })

  test('needs a model', () => {
    expect(() =>
      openAiBackend({ apiBase: base, apiKey: undefined, model: undefined, timeoutMs: 1, random }),
    ).toThrow(/--model/)
  })
})
