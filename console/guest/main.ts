/** The page on which a person without an account talks to an agent: what is typed, sent, answered and ended. */
import { begun, type Conversation, kept, withEnd, withOwn, withWords } from './conversation.ts'
import { adding, read } from './files.ts'
import { Gateway, NoAnswer, Refused, type SentFile } from './gateway.ts'
import { type Found, Polling } from './polling.ts'
import { parts, say, show, showFiles } from './view.ts'

const FULL = 503
/** So long an agent has for its word that it agrees. */
const AGREEING_MS = 5 * 60_000

const gateway = new Gateway()
const { files: count, bytes } = parts.compose.dataset
const filesMax = { count: Number(count), bytes: Number(bytes) }

let held: Conversation | undefined = kept.conversation()
let files: File[] = []
let isBusy = false
/** What the message that is written now is called; another one where it is changed. */
let once = anotherName()
let endedMs = Date.now()

const polling = new Polling(ask, seconds =>
  say(`The hub does not answer. It is asked again in ${seconds} seconds; nothing is lost.`, true),
)

/** A page that is opened over plain HTTP has no other source of names. */
function anotherName(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map(byte => byte.toString(16).padStart(2, '0'))
    .join('')
}

function put(next: Conversation | undefined): void {
  held = next
  kept.keep(next)
  show(held, isBusy)
}

/** No word comes any more; an agent that was told of the end may agree to it. */
const isPast = ({ over }: Conversation): boolean => over !== undefined && over !== 'you'

/** One turn of asking for words. */
async function ask(): Promise<Found> {
  const asked = held
  if (asked === undefined || isPast(asked)) return 'over'
  try {
    const { messages, ended } = await gateway.poll(asked.session, asked.has)
    if (held?.session !== asked.session) return 'over'
    const before = held
    put(withWords(before, messages, ended === true))
    if (messages.length > 0 || parts.status.classList.contains('wrong')) say('')
    if (held.over !== undefined && before.over === undefined) leaveComposer()
    const isWaitedFor = held.over === 'you' && Date.now() - endedMs < AGREEING_MS
    if (held.over !== undefined && !isWaitedFor) return 'over'
    return messages.length > 0 ? 'news' : 'nothing'
  } catch (error) {
    if (!(error instanceof NoAnswer || error instanceof Refused)) throw error
    return 'failed'
  }
}

/** The focus goes to what ended it, unless somebody is writing something that stays. */
function leaveComposer(): void {
  if (parts.compose.hidden || parts.text.value === '') parts.overText.focus({ preventScroll: true })
}

/** Does one thing at a time, and says what did not work. */
async function doing(sentence: string, work: () => Promise<void>, unsure: string): Promise<void> {
  if (isBusy) return
  isBusy = true
  say(sentence)
  show(held, isBusy)
  try {
    await work()
  } catch (error) {
    if (error instanceof NoAnswer) say(unsure, true)
    else say(error instanceof Error ? sentenceOf(error) : String(error), true)
  } finally {
    isBusy = false
    show(held, isBusy)
  }
}

function sentenceOf(error: Error): string {
  const status = error instanceof Refused ? error.status : 0
  if (status === FULL)
    return 'As many guests are here as this hub takes. Your message is kept: try again in some minutes.'
  const { message } = error
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}. Your message is kept.`
}

async function send(): Promise<void> {
  const text = parts.text.value.trim()
  if (isBusy || held?.over !== undefined) return
  if (held?.remaining === 0) return say('This agent takes no more messages of a guest.', true)
  if (text === '' && files.length === 0) {
    say('There is nothing to send: write a message, or attach a file.', true)
    return parts.text.focus()
  }
  await doing(
    'Sending …',
    async () => await sent(text, await read(files)),
    'The hub did not answer, so it is not certain that your message arrived. It is kept here: send it again, and it arrives once.',
  )
}

async function sent(body: string, attachments: SentFile[]): Promise<void> {
  if (held === undefined) {
    const { session, handler, handler_aid: aid, remaining } = await gateway.start(parts.aid.value)
    put(begun({ session, handler, aid, remaining }))
  }
  if (held === undefined) return
  const { session } = held
  const reply = await gateway.send({ session, body, attachments, once })
  if (reply.left === true || reply.ended === true) {
    put({ ...held, over: reply.left === true ? 'left' : 'lost' })
    say('Your message was not sent. It is kept below.', true)
    return parts.overText.focus({ preventScroll: true })
  }
  if (reply.limit_reached === true) {
    put({ ...held, remaining: 0 })
    return say('Your message was not sent: this agent takes no more of a guest.', true)
  }
  put(
    withOwn(
      held,
      body,
      attachments.map(({ name }) => name),
      reply.remaining,
    ),
  )
  clear()
  say('Sent. The answer comes here, and may take some minutes.')
  polling.wake()
}

function clear(): void {
  parts.text.value = ''
  kept.keepDraft('')
  files = []
  changed()
}

/** What is written is another message now. */
function changed(): void {
  once = anotherName()
  showFiles(files, remove)
}

function remove(file: File): void {
  files = files.filter(one => one !== file)
  changed()
  say(`${file.name} is removed.`)
  parts.attach.focus()
}

function attach(more: readonly File[]): void {
  if (isBusy) return
  const { files: all, refused } = adding(files, more, filesMax)
  files = all
  changed()
  if (refused !== undefined) say(refused, true)
  else say(files.length === 1 ? '1 file is attached.' : `${files.length} files are attached.`)
}

async function end(): Promise<void> {
  const { session } = held ?? {}
  if (session === undefined) return
  await doing(
    'Ending …',
    async () => {
      const { accepted } = await gateway.end(session)
      if (held?.session !== session) return
      endedMs = Date.now()
      put(withEnd(held, accepted))
      say('')
      parts.overText.focus({ preventScroll: true })
      polling.wake()
    },
    'The hub did not answer. Try again to end the conversation.',
  )
}

/** Begins anew; what was written and did not leave stays. */
function again(): void {
  polling.stop()
  put(undefined)
  say('')
  parts.text.focus()
}

parts.compose.addEventListener('submit', event => {
  event.preventDefault()
  void send()
})
parts.text.addEventListener('input', () => {
  once = anotherName()
  kept.keepDraft(parts.text.value)
})
parts.text.addEventListener('keydown', event => {
  const isPlain = !event.shiftKey && !event.altKey && !event.isComposing
  // on a telephone the key begins a line, as it does everywhere there
  if (event.key !== 'Enter' || !isPlain || matchMedia('(pointer: coarse)').matches) return
  event.preventDefault()
  void send()
})
parts.attach.addEventListener('change', () => {
  attach([...(parts.attach.files ?? [])])
  parts.attach.value = ''
})
parts.compose.addEventListener('dragover', event => event.preventDefault())
parts.compose.addEventListener('drop', event => {
  event.preventDefault()
  attach([...(event.dataTransfer?.files ?? [])])
})
parts.agree.addEventListener('click', () => void end())
parts.end.addEventListener('click', () => void end())
parts.again.addEventListener('click', again)

parts.text.value = kept.draft()
show(held, isBusy)
if (held !== undefined) polling.wake()
