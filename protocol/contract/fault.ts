/** What is wrong with a value that does not have the shape of a row, in words: where, and what was expected there. */
import type * as z from 'zod'

type Issue = z.core.$ZodIssue

/** Types of values in words. */
const kinds: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
  never: 'nothing',
}

/** The first thing wrong; `whole` names the value itself. */
export function faultOf(error: z.ZodError, value: unknown, whole: string): string {
  const issue = tightest(error.issues)
  return issue === undefined ? `${whole} does not have the expected form` : faultIn(issue, value, whole)
}

/** The first thing wrong; where several bounds of one place were passed, the one that all of them ask for. */
function tightest([first, ...others]: readonly Issue[]): Issue | undefined {
  if (first?.code !== 'too_big') return first
  const place = first.path.join('.')
  return others.reduce<Issue>(
    (least, issue) =>
      issue.code === 'too_big' &&
      least.code === 'too_big' &&
      issue.path.join('.') === place &&
      issue.maximum < least.maximum
        ? issue
        : least,
    first,
  )
}

/** The same of one issue. */
export function faultIn(issue: Issue, value: unknown, whole: string): string {
  const place = issue.path.length === 0 ? whole : issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys')
    return `unknown member: ${[...issue.path.map(String), issue.keys[0] ?? ''].join('.')}`
  if (isMissing(issue, value)) return `${place} is missing`
  return `${place}: ${expectation(issue)}`
}

/** Whether the value lacks what the issue is about. */
export function isMissing(issue: Issue, value: unknown): boolean {
  if (issue.path.length === 0) return false
  let found = value
  for (const key of issue.path) found = (found as Record<PropertyKey, unknown> | null | undefined)?.[key]
  return found === undefined
}

function expectation(issue: Issue): string {
  // A shape of ours that says itself what it expects.
  if (issue.message.startsWith('expected ')) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${kinds[issue.expected] ?? 'another type'}`
    case 'invalid_value':
      return `expected ${issue.values.map(String).join(' or ')}`
    case 'too_small':
      return `expected ${bound(issue.origin, Number(issue.minimum), 'at least', 'or more')}`
    case 'too_big':
      return `expected ${bound(issue.origin, Number(issue.maximum), 'at most', 'or less')}`
    case 'invalid_union':
      return issue.discriminator === undefined
        ? 'expected another form'
        : `expected another ${issue.discriminator}`
    case 'custom':
      return issue.message
    default:
      return 'expected another form'
  }
}

function bound(origin: string, limit: number, before: string, after: string): string {
  switch (origin) {
    case 'string':
      return `${before} ${limit} ${limit === 1 ? 'character' : 'characters'}`
    case 'array':
    case 'set':
      return `${before} ${limit} ${limit === 1 ? 'entry' : 'entries'}`
    default:
      return `${limit} ${after}`
  }
}
