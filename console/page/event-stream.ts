/** Server-sent events out of a stream of bytes, as far as the node writes them: id, event, data, and comments. */
import type { NodeEventSeen } from '../../view/node-client.ts'

/** More than this without an end is no event of a node. */
const BLOCK_CHARACTERS_MAX = 256 * 1024

export async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<NodeEventSeen> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let pending = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (pending + decoder.decode(value, { stream: true })).split('\n\n')
      pending = blocks.pop() ?? ''
      if (pending.length > BLOCK_CHARACTERS_MAX) return
      for (const block of blocks) yield* eventIn(block)
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function* eventIn(block: string): Generator<NodeEventSeen> {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    fields.set(line.slice(0, Math.max(colon, 0)), line.slice(colon + 1).trimStart())
  }
  const data = fields.get('data')
  if (data !== undefined)
    yield {
      id: fields.get('id') ?? null,
      event: fields.get('event') ?? 'message',
      data: JSON.parse(data) as unknown,
    }
  else if (fields.has('')) yield { id: null, event: 'alive', data: null }
}
