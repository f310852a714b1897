/** What a model does after an error: by its code, the next call with its arguments, or a request to the user. */
import { type ControlCode, controlCodes, isControlCode } from '../protocol/control/codes.ts'
import { OperationRefused } from '../protocol/control/refusal.ts'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { present } from '../protocol/encoding/present.ts'
import { isCommandLine } from '../protocol/shell.ts'
import { type Arguments, askUserTo, callText } from './call.ts'
import { NodeUnavailable, ToolError } from './errors.ts'
import { mended } from './mend.ts'
import { offeredCall } from './offered.ts'
import type { Tool, ToolContext } from './tool.ts'

/** Refusals whose sentence holds words of this node and of its caller only; all others may quote somebody. */
const ownSentences: readonly string[] = [
  'bad_request',
  'too_large',
  'idempotency_conflict',
  'petname_taken',
  'unknown_interaction',
  'unknown_contact',
  'unknown_peer',
  'wrong_state',
  'no_hub',
  'no_receipt',
  'no_credits',
  'no_auto_reply',
  'identity_deactivated',
  'file_unreadable',
] satisfies ControlCode[]
const SENTENCE_CHARACTERS_MAX = 600
/** A receipt follows the end of both sides within seconds. */
const RECEIPT_WAIT_S = 20
/** Refusals in which the node itself says what its user can do. */
const ADVISED: readonly string[] = ['wrong_state', 'next_key_missing', 'identity_deactivated']

type Failed = {
  tool: Tool
  args: Arguments
  /** A command for the user that the node itself named. */
  advice: string | undefined
  context: Pick<ToolContext, 'command' | 'absent'>
}
type Step = (failed: Failed) => string

const again = ({ tool, args }: Failed, changes: Arguments = {}): string =>
  callText(tool.name, { ...args, ...changes })
const threadOf =
  (wait_s?: number): Step =>
  ({ args: { interaction_id }, context }) =>
    interaction_id === undefined
      ? offeredCall(context, 'node_status')
      : offeredCall(context, 'task_inbox', { interaction_id, wait_s })
const thread = threadOf()
const user =
  (line: string): Step =>
  ({ advice, context }) =>
    askFor(context.command, advice ?? line)
/** The lines of a next step in one sentence. */
function askFor(command: ToolContext['command'], next: string): string {
  const lines = next.split('\n')
  const words = lines.filter(line => !isCommandLine(line)).join(' ')
  const commands = lines.filter(isCommandLine).map(command)
  if (commands.length === 0) return `ask your user: ${words}`
  const ask = askUserTo(commands.join(' or '))
  return words === '' ? ask : `${ask} (${words.replace(/:$/, '')})`
}
const status: Step = ({ context }) => offeredCall(context, 'node_status')

/** What comes after each code; a code that is not here asks for the log. */
const steps: Partial<Record<ControlCode, Step>> = {
  bad_request: ({ tool, args }) => callText(tool.name, mended(tool, args)),
  unknown_interaction: ({ tool, context }) =>
    offeredCall(context, tool.name === 'task_inbox' ? 'task_results' : 'task_inbox'),
  unknown_peer: ({ args, context }) => offeredCall(context, 'agents_find', { query: args['to'] }),
  wrong_state: failed =>
    failed.advice === undefined ? thread(failed) : askFor(failed.context.command, failed.advice),
  idempotency_conflict: failed =>
    again(failed, { idempotency_key: `${String(failed.args['idempotency_key'])}-2` }),
  too_large: failed =>
    again(failed, { task: failed.tool.example['task'], text: undefined, attach: ['<file that holds it>'] }),
  no_hub: user('svc hub-register <url> --name <name>'),
  hub_unreachable: status,
  hub_refused: failed =>
    failed.args['cursor'] === undefined ? status(failed) : again(failed, { cursor: undefined }),
  hub_incompatible: status,
  identity_deactivated: user('svc id new <name>'),
  old_copy: status,
  next_key_missing: user('svc id next import < phrase.txt'),
  no_receipt: threadOf(RECEIPT_WAIT_S),
  file_unreadable: failed =>
    again(failed, {
      file: failed.args['file'] && '<absolute path>',
      attach: failed.args['attach'] && ['<absolute path>'],
    }),
  no_credits: failed => again(failed, { pay: undefined, max_credits: undefined }),
  disk_full: () => 'ask your user to free some room on the disk, then repeat the call',
}

export type Explained = { code: string; message: string; next: string; accepted?: string[] }

/** What a model reads of whatever a tool threw; a node that is not there is a failure of its own. */
export function explain(thrown: unknown, tool: Tool, args: Arguments, context: ToolContext): Explained {
  const { code, next, message } = wordsOf(factsOf(thrown), args)
  const plain = trimmed(plainLine(message, SENTENCE_CHARACTERS_MAX))
  const isOwn = ownSentences.includes(code) || !(thrown instanceof OperationRefused)
  const shown = { code, message: isOwn ? plain : context.fence(plain) }
  const { command } = context
  if (code === 'unavailable') return { ...shown, next: askFor(command, next ?? 'svc up') }
  const step = (isControlCode(code) ? steps[code] : undefined) ?? user('svc logs')
  const advice = ADVISED.includes(code) ? next : undefined
  const accepted = code === 'bad_request' ? Object.keys(tool.input.shape) : undefined
  return { ...shown, next: trimmed(step({ tool, args, advice, context })), ...present({ accepted }) }
}

type Facts = { code: string; message: string; next: string | undefined }

/** For a person a node lists agents of that name with their own words; a model finds them with the next call. */
function wordsOf(facts: Facts, args: Arguments): Facts {
  if (facts.code !== 'unknown_peer') return facts
  return { ...facts, message: `${JSON.stringify(args['to'])} is neither a contact of this node nor an aid` }
}

function factsOf(thrown: unknown): Facts {
  if (thrown instanceof ToolError || thrown instanceof OperationRefused) {
    const { code, message } = thrown
    const next = thrown instanceof OperationRefused ? thrown.next : undefined
    // A newer node may refuse with a code that is not in this table.
    const known = isControlCode(code) ? controlCodes[code] : undefined
    return {
      code: known === undefined ? 'internal' : code,
      message,
      next: next === known?.next ? undefined : next,
    }
  }
  if (thrown instanceof NodeUnavailable)
    return { code: 'unavailable', message: thrown.message, next: thrown.next }
  return { code: 'internal', message: MISTAKE, next: undefined }
}

/** A mistake of ours: its text is for the log. */
export const isMistake = (thrown: unknown): boolean =>
  !(thrown instanceof ToolError || thrown instanceof OperationRefused || thrown instanceof NodeUnavailable)
const MISTAKE = 'the tool failed by a mistake of its own, which its server logged'

const trimmed = (sentence: string) => sentence.replace(/[.;\s]+$/, '')
