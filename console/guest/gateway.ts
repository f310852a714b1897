/** The four calls of the guest gateway, and what each can come to. */

const GONE = 404
const POLL_MS = 20_000
/** A message with its files may take long over a slow line. */
const SEND_MS = 10 * 60_000

export type Word = { body: string; system: boolean; end: '' | 'requested' | 'accepted' }
export type SentFile = { name: string; mime: string; data: string }

/** Nobody answered, or the answer was cut: what was asked for may have been done all the same. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
}

/** The hub refused; the sentence is its own. */
export class Refused extends Error {
  override name = 'Refused'
  readonly status: number
  constructor(status: number, sentence: string) {
    super(sentence)
    this.status = status
  }
}

type Started = { session: string; handler: string; handler_aid: string; remaining: number }
type Off = { enabled: false; reason?: string }
/** `left`: the agent is not at the hub any more. */
type Sent = { remaining: number; limit_reached?: true; ended?: true; left?: true }

const isOff = (reply: object): reply is Off => 'enabled' in reply && reply.enabled === false

/** The hub lets no guest in; the reason is that of the agent where it has one. */
function refuseOff(reply: object): void {
  if (isOff(reply)) throw new Refused(200, reply.reason ?? 'this hub takes no messages of guests now')
}

export class Gateway {
  async start(aid: string): Promise<Started> {
    const reply = await ask('start', aid === '' ? {} : { aid }, POLL_MS)
    refuseOff(reply)
    return reply as Started
  }

  /** `once` names the message: called the same again, it is not sent twice. */
  async send(given: { session: string; body: string; attachments: SentFile[]; once: string }): Promise<Sent> {
    const reply = await ask('send', given, SEND_MS).catch(error => {
      if (error instanceof Refused && error.status === GONE) return { left: true, remaining: 0 }
      throw error
    })
    refuseOff(reply)
    return reply as Sent
  }

  /** What came after the first `has` words. */
  async poll(session: string, has: number): Promise<{ messages: Word[]; ended?: true }> {
    const reply = await ask('poll', { session, has }, POLL_MS)
    refuseOff(reply)
    return reply as { messages: Word[]; ended?: true }
  }

  async end(session: string): Promise<{ accepted: boolean }> {
    const reply = await ask('end', { session }, POLL_MS)
    refuseOff(reply)
    return reply as { accepted: boolean }
  }
}

async function ask(what: string, body: object, ms: number): Promise<object> {
  const answer = await fetch(`/guest/${what}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Svc-Wire': '1' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ms),
    credentials: 'omit',
    cache: 'no-store',
  }).catch(() => {
    throw new NoAnswer()
  })
  const reply = await answer.json().catch(() => {
    throw answer.ok ? new NoAnswer() : new Refused(answer.status, `the hub answered with ${answer.status}`)
  })
  if (typeof reply !== 'object' || reply === null) throw new NoAnswer()
  if (answer.ok) return reply
  throw new Refused(
    answer.status,
    'error' in reply ? String(reply.error) : `the hub answered with ${answer.status}`,
  )
}
