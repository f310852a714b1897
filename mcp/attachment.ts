/** One attachment of a task: its text in pages, or a copy of it in a folder that the client or its user opened. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import type { Turn } from '../protocol/control/shapes.ts'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { present } from '../protocol/encoding/present.ts'
import { longestThatFits, RESULT_CHARACTERS_DEFAULT } from './budget.ts'
import { type Arguments, callText } from './call.ts'
import { ToolError } from './errors.ts'
import { own } from './fence.ts'
import { fileRow } from './rows.ts'
import { savedName } from './saved-name.ts'
import type { ToolContext } from './tool.ts'
import type { Thread } from './turns.ts'

type Attachment = Turn['attachments'][number]
type Wanted = {
  id: string
  cid: string
  save_to?: string | undefined
  from_char?: number | undefined
  max_chars?: number | undefined
}

/** Of a longer text a model reads nothing in pages. */
const TEXT_BYTES_MAX = 4 * 1024 * 1024
const HEAD_CHARACTERS = 700
const CID_CHARACTERS = 8
const SAVED_MODE = 0o600

export const attachmentArguments = {
  attachment: z.string().optional().describe('cid of one: its text'),
  save_to: z.string().optional().describe('with attachment: open folder to save it in'),
}

type Row = Readonly<Record<string, unknown>>
type Given = {
  interaction_id?: string | undefined
  attachment?: string | undefined
  save_to?: string | undefined
}

/** An attachment is one of a task, and what is saved is an attachment. */
export function requireWhole({ interaction_id: id, attachment, save_to: folder }: Given): void {
  if (attachment !== undefined && id === undefined)
    throw new ToolError('bad_request', 'interaction_id: expected the task of this attachment')
  if (folder !== undefined && attachment === undefined)
    throw new ToolError('bad_request', 'attachment: expected the cid of the file to save')
}

/** A call without its task, made one with a place for it. */
export const withTask = (args: Arguments): Arguments =>
  args['attachment'] !== undefined && args['interaction_id'] === undefined
    ? { interaction_id: '<id>', ...args }
    : args['save_to'] !== undefined && args['attachment'] === undefined
      ? { ...args, attachment: '<cid>' }
      : args

/** The call that reads an attachment, where a page of turns shows one. */
export const attachmentCall = (name: string, id: string, turns: readonly Row[]): string[] =>
  turns.some(row => row['attachments'] !== undefined)
    ? [callText(name, { interaction_id: id, attachment: '<cid>' })]
    : []

/** Members of a result that {@link attachmentOf} makes. */
export const attachmentMembers = ['attachment', 'text', 'next_char', 'saved'] as const

/** One attachment as the tool `name` shows it; throws {@link ToolError}. */
export async function attachmentOf(
  name: string,
  wanted: Wanted,
  context: ToolContext,
): Promise<Record<string, unknown>> {
  const { id, cid, save_to: folder } = wanted
  const attachment = await find(id, cid, context)
  const path = pathOf(attachment)
  const call = (more: object) => own(callText(name, { interaction_id: id, attachment: cid, ...more }))
  const head = { interaction_id: id, attachment: fileRow(attachment, context) }
  if (folder !== undefined) {
    const place = await context.files.place(folder)
    return { ...head, saved: own(save(attachment, path, place)) }
  }
  const text = textIn(path)
  if (text === undefined)
    return { ...head, actions: [call({ save_to: '<absolute path of an open folder>' })] }
  const from = wanted.from_char ?? 0
  const rest = text.slice(from)
  const page = (length: number) => {
    const next = from + length < text.length ? from + length : undefined
    return {
      ...head,
      text: context.fence(rest.slice(0, length)),
      ...present({ next_char: next }),
      actions: next === undefined ? [] : [call({ from_char: next })],
    }
  }
  const budget = (wanted.max_chars ?? RESULT_CHARACTERS_DEFAULT) - HEAD_CHARACTERS
  return page(longestThatFits(rest, budget, page))
}

/** The attachment with this content, in whichever turn it came. */
async function find(id: string, cid: string, context: ToolContext): Promise<Attachment> {
  for (let turn: number | undefined = 1; turn !== undefined; ) {
    const body = { interaction_id: id, from_turn: turn, own_chars: 1, mark_read: false }
    const thread: Thread = await context.call('thread', body, {}, { signal: context.signal })
    const found = thread.turns.flatMap(({ attachments }) => attachments).find(each => each.cid === cid)
    if (found !== undefined) return found
    turn = thread.next_turn
  }
  throw new ToolError('bad_request', 'attachment: no file of this task has that cid; its turns list them')
}

function pathOf({ path }: Attachment): string {
  if (path !== null) return path
  throw new ToolError('file_unreadable', 'the file is not on this machine any more, or has not come yet')
}

/** The whole text; undefined where it is none, or too long for pages. */
function textIn(path: string): string | undefined {
  const bytes = reading(path, () =>
    fs.statSync(path).size > TEXT_BYTES_MAX ? undefined : fs.readFileSync(path),
  )
  if (bytes === undefined || bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Copies the file under a name that nothing looks for; the same file is saved once. */
function save({ name, media_type: type, cid }: Attachment, from: string, folder: string): string {
  const isText = () => textIn(from) !== undefined
  const path = join(folder, savedName(name, { type, mark: cid.slice(-CID_CHARACTERS), isText }))
  return reading(path, () => {
    if (isSame(from, path)) return path
    fs.copyFileSync(from, path, fs.constants.COPYFILE_EXCL)
    fs.chmodSync(path, SAVED_MODE)
    return path
  })
}

function isSame(one: string, other: string): boolean {
  const held = fs.lstatSync(other, { throwIfNoEntry: false })
  if (held?.isFile() !== true || held.size !== fs.statSync(one).size) return false
  return fs.readFileSync(one).equals(fs.readFileSync(other))
}

function reading<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new ToolError('file_unreadable', `${path}: ${wordsOf(error)}`)
  }
}
