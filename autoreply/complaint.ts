/** Why a program failed, in what it printed: its last lines are often the stack, and the reason stands above them. */
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { lastJsonObject, member, textOf } from './printed.ts'

const COMPLAINT_BYTES_MAX = 16 * 1024
const COMPLAINT_CHARACTERS_MAX = 300
/** Lines that belong to one message, or stand for it where none is known. */
const LINES_MAX = 3

/** What a program said of its failure on either output, on one line: some say on standard output why they give up. */
export function complaintOf(...outputs: readonly Buffer[]): string {
  const said = outputs.map(bytes => complaintIn(bytes.subarray(-COMPLAINT_BYTES_MAX).toString('utf8')))
  return [...new Set(said)].filter(text => text !== '').join('; ')
}

/** The message of an error in JSON, else the line that names an error, else the last lines. */
function complaintIn(printed: string): string {
  const json = lastJsonObject(printed)
  const message = textOf(member(json, 'error', 'message')) ?? textOf(member(json, 'result'))
  return plainLine(message ?? reasonIn(printed), COMPLAINT_CHARACTERS_MAX)
}

/** `TypeError: …`, `mylib.ModelError: …`, `panic: …`, `error: …`, at the start of a line. */
const NAMES_ERROR = /^(?:uncaught )?(?:[\w.]*(?:error|exception)|panic|fatal)\b.*:/i
/** Where in the code it happened, and what a runtime says of itself. */
const IS_STACK = /^\s+at |^\s*\^+\s*$|^Node\.js v|^goroutine |^Traceback |^\s+File "/

function reasonIn(printed: string): string {
  const lines = printed.split('\n')
  const found = lines.findLastIndex(line => NAMES_ERROR.test(line))
  if (found < 0) {
    const words = lines.filter(line => line.trim() !== '' && !IS_STACK.test(line))
    return words.slice(-LINES_MAX).join(' ')
  }
  const rest = lines.slice(found, found + LINES_MAX)
  const end = rest.findIndex(line => line.trim() === '' || IS_STACK.test(line))
  return (end < 0 ? rest : rest.slice(0, end)).join(' ')
}
