/** The connection over standard input and output: limits, broken lines, split lines. */
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { refusalOf } from './judge.ts'
import { LineTransport, MESSAGE_BYTES_MAX } from './stdio.ts'

function connection() {
  const [input, output] = [new PassThrough({ highWaterMark: 1 << 26 }), new PassThrough()]
  const transport = new LineTransport(input, output, refusalOf)
  const taken: unknown[] = []
  transport.onmessage = message => taken.push(message)
  let written = ''
  output.on('data', chunk => {
    written += String(chunk)
  })
  return {
    input,
    transport,
    taken,
    answers: () =>
      written
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as { id: unknown; error: { code: number; message: string } }),
  }
}
const settled = () => new Promise(resolve => setImmediate(() => setImmediate(resolve)))
const request = (id: number, params: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'x', ...params } })

describe('a line of a client', () => {
  test('is one message, however it is split', async () => {
    const { input, transport, taken } = connection()
    await transport.start()
    const text = `${request(1, { text: 'é🦊' })}\r\n\n${request(2)}\n`
    for (const byte of Buffer.from(text)) input.write(Buffer.from([byte]))
    await settled()
    expect(taken).toEqual([1, 2].map(id => expect.objectContaining({ id })))
    expect(taken[0]).toMatchObject({ params: { text: 'é🦊' } })
  })

  test.each([
    ['{"a":', -32700],
    ['[1]', -32600],
    ['null', -32600],
    ['{"jsonrpc":"2.0"}', -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","method":"ping","params":"x"}', -32600],
    ['{"jsonrpc":"2.0","id":4,"result":"x"}', -32600],
    ['['.repeat(100_000), -32700],
  ])('that is no message (%.20s) is answered, and the next one is taken', async (line, code) => {
    const { input, transport, taken, answers } = connection()
    await transport.start()
    input.write(`${line}\n${request(7)}\n`)
    await settled()
    expect(answers()).toMatchObject([{ id: null, error: { code } }])
    expect(taken).toMatchObject([{ id: 7 }])
  })

  test.each([
    ['{"id":906,"method":5}', 906, -32600, 'jsonrpc is missing'],
    ['{"jsonrpc":"1.0","id":1,"method":"x"}', 1, -32600, 'jsonrpc: expected 2.0'],
    ['{"jsonrpc":"2.0","id":906,"method":5}', 906, -32600, 'method: expected a string'],
    [
      '{"jsonrpc":"2.0","id":907,"method":"tools/call","params":"x"}',
      907,
      -32600,
      'params: expected an object',
    ],
    ['{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}', 'a', -32600, 'params: expected an object'],
    ['{"jsonrpc":"2.0","id":3,"method":"ping","params":{"_meta":5}}', 3, -32600, 'params._meta: expected an'],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 1.5, -32600, 'id: expected'],
    ['{"jsonrpc":"2.0","id":5}', 5, -32600, 'method is missing'],
    ['{"jsonrpc":"2.0","id":5,"method":"ping","more":1}', 5, -32600, 'unknown member: more'],
    [request(8, { name: 5 }), 8, -32602, 'params.name: expected a string'],
    [request(8, { name: 'node_status', arguments: [] }), 8, -32602, 'params.arguments: expected an object'],
    ['{"jsonrpc":"2.0","id":8,"method":"tools/call"}', 8, -32602, 'params is missing'],
    [
      '{"jsonrpc":"2.0","id":8,"method":"initialize","params":{}}',
      8,
      -32602,
      'params.protocolVersion is missing',
    ],
    [
      '{"jsonrpc":"2.0","id":8,"method":"prompts/get","params":{"name":1}}',
      8,
      -32602,
      'params.name: expected a',
    ],
    [
      '{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"loud"}}',
      8,
      -32602,
      'params.level: ',
    ],
  ])('of the wrong form (%s) is answered under its id with one sentence', async (line, id, code, fault) => {
    const { input, transport, taken, answers } = connection()
    await transport.start()
    input.write(`${line}\n${request(7)}\n`)
    await settled()
    expect(answers()).toMatchObject([{ id, error: { code, message: expect.stringContaining(fault) } }])
    expect(answers()[0]?.error.message).toMatch(/^[^\n]{1,400}$/)
    expect(taken).toMatchObject([{ id: 7 }])
  })

  const long = 'x'.repeat(MESSAGE_BYTES_MAX)
  test.each([
    ['first', `{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"text":"${long}"}}`, 41],
    ['last', `{"method":"tools/call","params":{"text":"${long}"},"jsonrpc":"2.0","id":"a-1"}`, 'a-1'],
    ['last but one', `{"method":"tools/call","params":{"text":"${long}"},"id":3,"jsonrpc":"2.0"}`, 3],
    ['nowhere', `{"method":"x","jsonrpc":"2.0","params":{"text":"${long}","id":5}}`, null],
  ])(
    'of more than 10 MiB is answered under its id, which stands %s, and the next one is taken',
    async (_, line, id) => {
      const { input, transport, taken, answers } = connection()
      await transport.start()
      const bytes = Buffer.from(`${line}\n${request(7)}\n`)
      for (let at = 0; at < bytes.length; at += 65_536) input.write(bytes.subarray(at, at + 65_536))
      await settled()
      expect(answers()).toMatchObject([{ id, error: { code: -32600 } }])
      expect(answers()[0]?.error.message).toContain('over the limit of 10485760')
      expect(taken).toMatchObject([{ id: 7 }])
    },
  )

  test('of exactly 10 MiB is taken', async () => {
    const { input, transport, taken } = connection()
    await transport.start()
    const empty = request(1, { text: '' })
    input.write(`${request(1, { text: 'x'.repeat(MESSAGE_BYTES_MAX - empty.length) })}\n`)
    await settled()
    expect(taken).toHaveLength(1)
  })
})
