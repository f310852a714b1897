/** The page as it shows a conversation. Whatever an agent wrote becomes a text node and nothing else. */
import { shownText } from '../../protocol/encoding/plain-text.ts'
import type { Conversation, Line, Over } from './conversation.ts'
import { sizeText } from './files.ts'

const byId = <E extends HTMLElement>(id: string): E => {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`the page has no ${id}`)
  return element as E
}

export const parts = {
  choice: byId('choice'),
  aid: byId<HTMLSelectElement>('aid'),
  with: byId('with'),
  who: byId('who'),
  whoAid: byId('who-aid'),
  log: byId('log'),
  lines: byId('log').firstElementChild as HTMLElement,
  asked: byId('asked'),
  agree: byId<HTMLButtonElement>('agree'),
  over: byId('over'),
  overText: byId('over-text'),
  again: byId<HTMLButtonElement>('again'),
  status: byId('status'),
  compose: byId<HTMLFormElement>('compose'),
  text: byId<HTMLTextAreaElement>('text'),
  files: byId('files'),
  send: byId<HTMLButtonElement>('send'),
  attach: byId<HTMLInputElement>('attach'),
  end: byId<HTMLButtonElement>('end'),
  left: byId('left'),
}
byId('unscripted').remove()

const overs: Record<Over, string> = {
  agreed: 'Both sides have ended this conversation.',
  you: 'You ended this conversation, and the agent was told.',
  left: 'This agent has left the hub.',
  lost: 'This conversation is over: it lay idle for 30 minutes, or the hub was restarted.',
}

/** Says what happened, for eyes and ears; `wrong` where something did not work. */
export function say(sentence: string, isWrong = false): void {
  parts.status.textContent = sentence
  parts.status.classList.toggle('wrong', isWrong)
}

const el = (tag: string, className: string, text: string): HTMLElement => {
  const element = document.createElement(tag)
  element.className = className
  element.textContent = shownText(text)
  return element
}

/** So far from its end a page still counts as being there. */
const NEAR_PIXELS = 160

/** Makes the page what the conversation is; whoever reads its end goes on reading it there. */
export function show(held: Conversation | undefined, isBusy: boolean): void {
  const { scrollHeight } = document.documentElement
  const isAtEnd = scrollY + innerHeight > scrollHeight - NEAR_PIXELS
  draw(held, isBusy)
  if (isAtEnd) scrollTo(0, document.documentElement.scrollHeight)
}

function draw(held: Conversation | undefined, isBusy: boolean): void {
  const { lines = [], over, isAsked = false, remaining, handler = '', aid = '' } = held ?? {}
  const isOpen = held !== undefined && over === undefined
  parts.choice.hidden = held !== undefined
  parts.with.hidden = held === undefined
  parts.who.textContent = `You talk with ${shownText(nameOf(handler))}.`
  parts.whoAid.textContent = aid
  parts.log.hidden = lines.length === 0
  showLines(lines, handler)
  parts.asked.hidden = !isOpen || !isAsked
  parts.over.hidden = over === undefined
  if (over !== undefined) parts.overText.textContent = overs[over]
  parts.compose.hidden = over === 'agreed' || over === 'you'
  parts.end.hidden = !isOpen || isAsked
  const isStopped = isBusy || remaining === 0 || over !== undefined
  for (const button of [parts.send, parts.end, parts.agree])
    button.setAttribute('aria-disabled', String(button === parts.send ? isStopped : isBusy))
  parts.left.textContent = remaining === undefined || over !== undefined ? '' : leftOf(remaining)
}

const nameOf = (handler: string): string => (handler === '' ? 'an agent without a name' : handler)

function leftOf(remaining: number): string {
  if (remaining === 0)
    return 'You have sent all messages that this agent takes of a guest. Its answers still come here.'
  return remaining === 1 ? '1 message left.' : `${remaining} messages left.`
}

function showLines(lines: readonly Line[], handler: string): void {
  const list = parts.lines
  while (list.children.length > lines.length) list.lastElementChild?.remove()
  list.append(...lines.slice(list.children.length).map(line => lineElement(line, handler)))
}

function lineElement({ by, text, files }: Line, handler: string): HTMLElement {
  const item = document.createElement('li')
  item.className = by
  if (by !== 'note') item.append(el('p', 'by', by === 'you' ? 'You' : nameOf(handler)))
  if (text !== '') item.append(el('p', 'words', text))
  if (files.length > 0) item.append(el('p', 'with', `With ${files.join(', ')}`))
  return item
}

/** The files that go along with the next message. */
export function showFiles(files: readonly File[], remove: (file: File) => void): void {
  parts.files.replaceChildren(
    ...files.map(file => {
      const item = document.createElement('li')
      const button = el('button', '', 'Remove')
      button.setAttribute('type', 'button')
      button.setAttribute('aria-label', shownText(`Remove ${file.name}`))
      button.addEventListener('click', () => remove(file))
      item.append(el('span', 'with', `${file.name}, ${sizeText(file.size)}`), button)
      return item
    }),
  )
}
