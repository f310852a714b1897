/** Bodies whose one long member goes to where it is kept while it comes. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { liftTexts, TooMuchBeside } from '../../protocol/encoding/lifted-text.ts'
import { Refusal } from '../core/refusal.ts'
import type { BodySource } from './body.ts'
import type { Pace } from './pace.ts'

/** Takes what is lifted out of a body: `end` gives what it became; either `end` or `abort` ends it. */
export type LiftWriter<T> = {
  take(bytes: Uint8Array): Promise<void>
  end(): Promise<T>
  abort(): Promise<void>
}

/** Where members of bodies are kept. */
export interface Lifts<T> {
  writer(): LiftWriter<T>
  /** Lets go what nothing names. */
  drop(lifted: T): Promise<void>
}

/** Base64 that is not is the fault of what was lifted, which its handler may judge late. */
export type LiftLimits = { member: string; bytesMax: number; besideBytesMax: number; pace: Pace }

/** What is shorter comes as fast as it can. */
const PACED_FROM_BYTES = 128 * 1024

/** Reads a body to its end: JSON with an empty text in the place of what was lifted, and that, where there was any. */
export async function readLifted<T>(
  source: BodySource,
  { member, bytesMax, besideBytesMax, pace }: LiftLimits,
  lifts: Lifts<T>,
): Promise<{ bytes: Uint8Array; lifted: T | undefined }> {
  const lifting = { member, depth: 1, restBytesMax: besideBytesMax }
  let writer: LiftWriter<T> | undefined
  let lifted: T | undefined
  source.accept()
  source.giveWay()
  try {
    const bytes = await liftTexts(piecesOf(source, bytesMax, pace), lifting, () => {
      if (writer !== undefined) throw new Malformed(`duplicate member "${member}"`)
      const made = lifts.writer()
      writer = made
      return {
        take: piece => made.take(piece),
        async end() {
          lifted = await made.end()
        },
      }
    })
    return { bytes, lifted }
  } catch (error) {
    source.close()
    if (lifted === undefined) await writer?.abort()
    else await lifts.drop(lifted)
    throw asRefusal(error, besideBytesMax)
  }
}

async function* piecesOf(source: BodySource, bytesMax: number, pace: Pace): AsyncGenerator<Uint8Array> {
  for (;;) {
    const piece = await source.next()
    if (piece === undefined) return
    if (source.bytesRead > bytesMax) throw new Refusal('tooLarge', { limitBytes: bytesMax })
    if (source.bytesRead > PACED_FROM_BYTES) await pace.take(piece.length)
    yield piece
  }
}

function asRefusal(error: unknown, besideBytesMax: number): unknown {
  if (error instanceof TooMuchBeside)
    return new Refusal('tooLarge', { limitBytes: besideBytesMax, part: 'body without its payload' })
  return error instanceof Malformed ? new Refusal('requestMalformed', { why: error.message }) : error
}
