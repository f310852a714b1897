/**
 * What an agent answered, as parts of A2A. An answer that is a JSON object with the one member `a2a` says itself what it
 * means, as a SendMessageResponse whose ids may be left out; words are an answer to go on from, the result of a call is
 * its end.
 */

import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { cidText } from '../../protocol/crypto/hash.ts'
import { Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { fileName } from '../../protocol/encoding/file-names.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { parseResultDocument } from '../../protocol/proof/documents.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { Message as ThreadMessage, Threads } from '../store/threads.ts'
import { harmlessId, harmlessName, harmlessPart, harmlessType } from './harmless.ts'
import { type Artifact, metadataShape, partsShape, type TaskState, taskStates } from './shapes.ts'

/** Bytes of files that stand in what a client is given at once; of any more only the names. */
const INLINE_BYTES_MAX = 8 * 1024 * 1024

/** An artifact, and whether it goes on with one of the same id. */
export type Piece = { artifact: Artifact; append: boolean; lastChunk: boolean }
export type A2aAnswer = {
  pieces: Piece[]
  /** What the status says. */
  parts: object[] | undefined
  /** Undefined where the answer leaves it to the events of the task. */
  state: TaskState | undefined
  /** The answer is no task but these words. */
  isDirect?: boolean
  /** It says that it is of A2A and is not. */
  isMalformed?: boolean
}

const says = z.object({ parts: partsShape })
const artifact = z.object({
  artifactId: z.string().max(128).optional(),
  name: z.string().max(255).optional(),
  description: z.string().max(4096).optional(),
  parts: partsShape,
  metadata: metadataShape.optional(),
})
const ownWords = z.union([
  z.strictObject({ message: says }),
  z.strictObject({
    task: z.object({
      status: z.object({ state: z.enum(taskStates), message: says.optional() }),
      artifacts: z.array(artifact).max(64).optional(),
    }),
  }),
])

/** How much of the files of answers may still be read. */
export type FileRoom = { bytes: number }
export const roomForFiles = (): FileRoom => ({ bytes: INLINE_BYTES_MAX })

export class Answers {
  readonly #threads: Threads
  readonly #attachments: Attachments

  constructor(threads: Threads, attachments: Attachments) {
    this.#threads = threads
    this.#attachments = attachments
  }

  /** Reads one message of the other side; its files are read as far as there is room for them, else they are named. */
  read(message: ThreadMessage, room: FileRoom = { bytes: 0 }): A2aAnswer {
    const own = message.kind === kinds.message ? a2aIn(message.text) : undefined
    if (own !== undefined) return ownAnswer(own, message)
    // of a call of this node, whose payment was not good
    if (message.kind === kinds.quote)
      return { pieces: [], parts: [{ text: message.text }], state: 'TASK_STATE_FAILED' }
    const files = this.#filesOf(message, room)
    if (message.kind === kinds.result) return resultAnswer(message, files)
    const words = message.text === '' ? [] : [{ text: message.text }]
    const parts = [...words, ...files]
    if (parts.length === 0) return { pieces: [], parts: undefined, state: undefined }
    return {
      pieces: [whole({ artifactId: idOf(message), parts })],
      parts: words.length === 0 ? undefined : words,
      state: undefined,
    }
  }

  #filesOf(message: ThreadMessage, room: FileRoom): object[] {
    return this.#threads.attachmentsOf(message.key).map(({ name, mediaType, size, cid }) => {
      const id = cidText(cid)
      const path = size <= room.bytes ? this.#attachments.find(id) : undefined
      const filename = fileName(name)
      const metadata = { cid: id, bytes: size }
      if (path === undefined)
        return { text: `${filename}: ${size} bytes, which svc pull saves`, filename, metadata }
      room.bytes -= size
      const raw = readFileSync(path).toString('base64')
      return { raw, filename, mediaType: harmlessType(mediaType), metadata }
    })
  }
}

const idOf = (message: ThreadMessage): string => `answer-${message.number}`
const whole = (artifact: Artifact): Piece => ({ artifact, append: false, lastChunk: true })

function a2aIn(text: string): JsonValue | undefined {
  if (!/^\s*\{\s*"a2a"\s*:/.test(text)) return undefined
  try {
    const value = parseJson(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return Object.keys(value).length === 1 ? value['a2a'] : undefined
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** States that only this node tells, because they say what the other side cannot know; an agent that says so means these. */
const saidStates: Partial<Record<TaskState, TaskState>> = {
  TASK_STATE_SUBMITTED: 'TASK_STATE_WORKING',
  TASK_STATE_AUTH_REQUIRED: 'TASK_STATE_INPUT_REQUIRED',
  TASK_STATE_CANCELED: 'TASK_STATE_REJECTED',
}

function ownAnswer(value: JsonValue, message: ThreadMessage): A2aAnswer {
  const read = ownWords.safeParse(value)
  if (!read.success) {
    const parts = [{ text: 'the agent answered in the form of A2A, with members that are not as expected' }]
    return { pieces: [], parts, state: 'TASK_STATE_FAILED', isMalformed: true }
  }
  if ('message' in read.data)
    return {
      pieces: [],
      parts: read.data.message.parts.map(harmlessPart),
      state: 'TASK_STATE_COMPLETED',
      isDirect: true,
    }
  const { status, artifacts = [] } = read.data.task
  const named = artifacts.map((given, n) => ({
    ...present({ ...given, name: given.name === undefined ? undefined : harmlessName(given.name) }),
    artifactId: harmlessId(given.artifactId || `${idOf(message)}.${n + 1}`),
    parts: given.parts.map(harmlessPart),
  }))
  const pieces = named.map(({ artifactId }, n) => ({
    artifact: named[n] as Artifact,
    append: named.slice(0, n).some(earlier => earlier.artifactId === artifactId),
    lastChunk: !named.slice(n + 1).some(later => later.artifactId === artifactId),
  }))
  const { state } = status
  return { pieces, parts: status.message?.parts.map(harmlessPart), state: saidStates[state] ?? state }
}

const effectStates: Readonly<Record<string, TaskState>> = {
  OK: 'TASK_STATE_COMPLETED',
  UNVERIFIED: 'TASK_STATE_COMPLETED',
  FAILED: 'TASK_STATE_FAILED',
  UNAVAILABLE: 'TASK_STATE_REJECTED',
}

function resultAnswer(message: ThreadMessage, files: object[]): A2aAnswer {
  const decoded = decodePayload(message.kind, message.payload)
  const document = 'document' in decoded.payload ? decoded.payload.document : undefined
  const result = document === undefined ? undefined : parseResultDocument(document)
  if (result === undefined || !('status' in result)) {
    const parts = [{ text: message.text }]
    const artifact = { artifactId: idOf(message), parts: [...parts, ...files] }
    return { pieces: [whole(artifact)], parts, state: 'TASK_STATE_COMPLETED' }
  }
  const state = effectStates[result.status]
  const isDone = state === 'TASK_STATE_COMPLETED'
  const parts = [{ data: result as JsonValue, mediaType: 'application/json' }, ...files]
  const pieces = isDone ? [whole({ artifactId: idOf(message), name: 'result', parts })] : []
  return { pieces, parts: [{ text: result.message }], state }
}

export const messageIdOf = (message: ThreadMessage): string => toBase64url(message.messageId)
