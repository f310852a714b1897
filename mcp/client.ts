/** The client of a server and its user, in both eras of the protocol: asked while a call runs, or between its rounds. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { AskUser } from './approval.ts'
import { InputNeeded, type Round } from './rounds.ts'

/** As long as a tool may wait for anything. */
const USER_WAIT_MS = 45_000
const ROOTS_WAIT_MS = 5_000
const ROOTS = 'roots/list'

export type Era = 'legacy' | 'modern'
export type Roots = () => Promise<readonly string[] | undefined>

/** What a client says of itself: once at the start, or with each request. */
export function capabilitiesOf(
  server: Server,
  era: Era,
  { mcpReq }: ServerContext,
): ClientCapabilities | undefined {
  if (era === 'legacy') return server.getClientCapabilities()
  // the SDK has judged the envelope, and types its keys as unknown ones
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {}
  return envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
}

/** The form in which a question with a few answers is put. */
export function questionForm(question: string, answers: Readonly<Record<string, string>>) {
  const [names, titles] = [Object.keys(answers), Object.values(answers)]
  const decision = { type: 'string' as const, title: 'Your decision', enum: names, enumNames: titles }
  const requestedSchema = { type: 'object' as const, properties: { decision }, required: ['decision'] }
  return { mode: 'form' as const, message: question, requestedSchema }
}

/** What a user chose of the answers; undefined from one who did not. */
export function decisionOf(answer: unknown, answers: Readonly<Record<string, string>>): string | undefined {
  const { action, content } = Object(answer) as { action?: unknown; content?: { decision?: unknown } }
  const decided = action === 'accept' ? content?.decision : undefined
  return typeof decided === 'string' && Object.hasOwn(answers, decided) ? decided : undefined
}

/** The user behind a client that declares elicitation; one who does not answer in time has said nothing. */
export function userOf(server: Server, era: Era, context: ServerContext, round: Round): AskUser | undefined {
  const { elicitation } = capabilitiesOf(server, era, context) ?? {}
  if (elicitation === undefined) return undefined
  if (era === 'modern') return isForm(elicitation) ? userBetweenRounds(round) : undefined
  const options = { timeout: USER_WAIT_MS, signal: context.mcpReq.signal }
  const put = async (question: string, answers: Readonly<Record<string, string>>) => {
    const asked = server.elicitInput(questionForm(question, answers), options)
    return decisionOf(await asked.catch(() => undefined), answers)
  }
  return { put, isAnswered: () => false }
}

/** A client that declares no mode can show a form. */
export const isForm = (elicitation: object): boolean =>
  'form' in elicitation || Object.keys(elicitation).length === 0

const userBetweenRounds = ({ answers: given }: Round): AskUser => ({
  isAnswered: question => given.has(question),
  async put(question, answers) {
    if (given.has(question)) return decisionOf(given.get(question), answers)
    throw new InputNeeded(question, { method: 'elicitation/create', params: questionForm(question, answers) })
  },
})

/** The folders that the client opened, asked once and again whenever it says that they changed. */
export function rootsOf(server: Server): Roots {
  let known: Promise<readonly string[]> | undefined
  server.setNotificationHandler('notifications/roots/list_changed', () => {
    known = undefined
  })
  return async () => {
    if (server.getClientCapabilities()?.roots === undefined) return undefined
    known ??= server.listRoots(undefined, { timeout: ROOTS_WAIT_MS }).then(
      ({ roots }) => roots.map(root => root.uri),
      () => [],
    )
    return known
  }
}

/** The same of a client that is asked between the rounds of one call. */
export function rootsBetweenRounds(server: Server, context: ServerContext, round: Round): Roots {
  return async () => {
    if (capabilitiesOf(server, 'modern', context)?.roots === undefined) return undefined
    if (!round.answers.has(ROOTS)) throw new InputNeeded(ROOTS, { method: ROOTS, params: {} })
    const { roots } = Object(round.answers.get(ROOTS)) as { roots?: unknown }
    const uris = (Array.isArray(roots) ? roots : []).map(root => (Object(root) as { uri?: unknown }).uri)
    return uris.filter(uri => typeof uri === 'string')
  }
}
