/** One call of the page, sealed with its key: what goes to the node in one body or several, and the answer as it comes. */
import {
  BODY_CONTENT_BYTES_MAX,
  FRAME_BYTES_MAX,
  type Frame,
  FrameOpener,
  FrameSealer,
} from '../../protocol/control/page-frames.ts'
import { type CallKeys, type NodeTime, patienceMs } from '../../protocol/control/page-key.ts'
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import { gone, plainFetch } from './plain-fetch.ts'

/** What a node says is as old as this at most; it says every five seconds that it is at work. */
const BEHIND_MS = 20_000

export type Call = {
  method: string
  /** Path and query. */
  target: string
  body?: Blob | undefined
  signal?: AbortSignal | undefined
  /** Hears how many bytes of the body the node has. */
  onSent?: ((bytes: number) => void) | undefined
}
/** What the keys of a call are for, and what the clocks of the node say now. */
export type CallSeal = { session: string; counter: number; keys: CallKeys; time(): NodeTime }

/** Whoever answered has not the key of this page: no node, or one that has forgotten it. */
export class NotOpen extends Error {}

/** Makes a call; throws {@link NotOpen}, or what the browser throws where nobody answers. */
export async function sealedCall(seal: CallSeal, call: Call): Promise<Response> {
  const patience = new Patience(call.signal)
  try {
    return await answered(seal, call, patience)
  } catch (error) {
    // nothing of a call that failed keeps a connection
    patience.stop()
    throw error
  }
}

async function answered(seal: CallSeal, call: Call, patience: Patience): Promise<Response> {
  const { method, target, body = new Blob() } = call
  const sealer = new FrameSealer(seal.keys.page)
  const opener = new FrameOpener(seal.keys.node)
  for (let sent = 0, isFirst = true; ; isFirst = false) {
    const first = sealer.count
    const at = seal.time()
    const head = isFirst ? { method, target, at } : { at }
    const frames = [sealer.seal('head', utf8(JSON.stringify(head)))]
    const end = Math.min(body.size, sent + BODY_CONTENT_BYTES_MAX)
    for (; sent < end; sent += FRAME_BYTES_MAX)
      frames.push(sealer.seal('part', await bytesOf(body.slice(sent, Math.min(end, sent + FRAME_BYTES_MAX)))))
    sent = end
    if (sent === body.size) frames.push(sealer.seal('end'))
    const answer = framesIn(await post(seal, first, frames, patience), opener, { seal, patience })
    const { value: said } = await answer.next()
    if (said?.kind === 'head') return responseOf(said, answer, call, patience)
    await answer.return(undefined)
    if (said?.kind !== 'more' || sent === body.size) throw new NotOpen()
    call.onSent?.(sent)
  }
}

async function post(
  { session, counter }: CallSeal,
  first: number,
  frames: Uint8Array[],
  patience: Patience,
): Promise<ReadableStream<Uint8Array>> {
  const body = new Blob(frames as BlobPart[])
  patience.begin(body.size)
  const path = `/console/call?session=${session}&call=${counter}&frame=${first}`
  const headers = { 'Content-Type': 'application/octet-stream' }
  const answer = await plainFetch(path, { method: 'POST', headers, body, signal: patience.signal })
  if (answer.status !== 200 || answer.body === null) throw new NotOpen()
  return answer.body
}

/** The frames of one answer up to its last one, but those that say nothing more than that the node is at work. */
async function* framesIn(
  body: ReadableStream<Uint8Array>,
  opener: FrameOpener,
  { seal, patience }: { seal: CallSeal; patience: Patience },
): AsyncGenerator<Frame> {
  const reader = body.getReader()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const frames = opened(opener, read.value)
      // bytes that are no frame yet may be anybody's
      if (frames.length > 0) patience.begin(0)
      for (const frame of frames) {
        if (frame.kind !== 'alive') yield frame
        else if (seal.time().now - Number(fromUtf8(frame.content)) > BEHIND_MS) throw new NotOpen()
      }
    }
  } catch (error) {
    patience.stop()
    throw error
  } finally {
    await drained(reader, patience)
  }
}

/** A connection is used again when all of the answer was read. */
async function drained(reader: ReadableStreamDefaultReader<Uint8Array>, patience: Patience): Promise<void> {
  patience.begin(0)
  try {
    if (!(await reader.read()).done) await reader.cancel()
  } catch {
    // it was called off
  } finally {
    patience.end()
  }
}

function opened(opener: FrameOpener, bytes: Uint8Array): Frame[] {
  try {
    return [...opener.open(bytes)]
  } catch {
    throw new NotOpen()
  }
}

function responseOf(
  { content }: Frame,
  frames: AsyncGenerator<Frame>,
  { signal }: Call,
  patience: Patience,
): Response {
  const { status, type } = JSON.parse(fromUtf8(content)) as { status: number; type?: string }
  const next = async () => {
    try {
      return (await frames.next()).value as Frame | undefined
    } catch (error) {
      throw signal?.aborted === true ? error : gone()
    }
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const frame = await next()
      if (frame?.kind === 'part') return controller.enqueue(frame.content)
      await frames.return(undefined)
      // an answer that was cut short is none
      if (frame?.kind !== 'end') throw gone()
      controller.close()
    },
    cancel: () => patience.stop(),
  })
  return new Response(body, { status, headers: type === undefined ? {} : { 'Content-Type': type } })
}

/** Waits for the node as long as it says that it is at work. */
class Patience {
  readonly #stopped = new AbortController()
  readonly signal: AbortSignal
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(signal: AbortSignal | undefined) {
    this.signal =
      signal === undefined ? this.#stopped.signal : AbortSignal.any([signal, this.#stopped.signal])
  }

  /** From now on, until so many bytes have left. */
  begin(bytes: number): void {
    this.end()
    this.#timer = setTimeout(() => this.stop(), patienceMs(bytes))
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  stop(): void {
    this.end()
    this.#stopped.abort()
  }
}

const bytesOf = async (part: Blob): Promise<Uint8Array> => new Uint8Array(await part.arrayBuffer())
