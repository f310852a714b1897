/** Events out of a stream of bytes. */
import { describe, expect, test } from 'vitest'
import { eventsIn } from './event-stream.ts'

const text =
  'retry: 1000\n\nid: 7\nevent: inbox\ndata: {"interaction_id":"ä😀"}\n\n: alive\n\nid: 8\nevent: shutdown\ndata: {}\n\n'
const expected = [
  { id: '7', event: 'inbox', data: { interaction_id: 'ä😀' } },
  { id: null, event: 'alive', data: null },
  { id: '8', event: 'shutdown', data: {} },
]

const streamOf = (...parts: Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })

async function all(body: ReadableStream<Uint8Array>): Promise<unknown[]> {
  const events: unknown[] = []
  for await (const event of eventsIn(body)) events.push(event)
  return events
}

describe('a stream of events', () => {
  const bytes = new TextEncoder().encode(text)

  test.each([1, 2, 3, 7, 64, bytes.length])('is read in parts of %d bytes', async size => {
    const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.slice(i * size, (i + 1) * size),
    )
    expect(await all(streamOf(...parts))).toEqual(expected)
  })

  test('an event that was cut off is none', async () => {
    expect(await all(streamOf(bytes.slice(0, -1)))).toEqual(expected.slice(0, 2))
  })

  test('one that never ends is given up', async () => {
    const part = new TextEncoder().encode('data: '.repeat(20_000))
    expect(await all(streamOf(part, part, part))).toEqual([])
  })
})
