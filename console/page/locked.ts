/** The page without a token: why it has none, and what lets it in. */
import type { Opened } from './boot.ts'
import { type Drawn, h } from './h.ts'

type Lacks = Extract<Opened, { lacks: unknown }>['lacks']

const WHY: Record<Lacks, string> = {
  ticket: 'This node runs programs that answer for you, so its console opens by a link of yours alone.',
  wish: 'The owner of this node wants its console to open by a link alone (console_ticket).',
  loopback: 'This node can be reached from other machines, so it hands its token to no page.',
  user: 'This machine does not say whose browser this is, so the console opens by a link of yours alone.',
  browser: 'This page was not opened as a page of its own, so it came without its token.',
  spent: 'This link was used before, or is older than a minute.',
}

export function lockedPage(lacks: Lacks, open: (token: string) => void): Drawn {
  return h(
    'main',
    { class: 'locked', id: 'main' },
    h('h1', {}, 'The console of your node'),
    h('p', {}, WHY[lacks]),
    h('p', {}, 'Run this as the user of the node; it opens a link that counts once:'),
    h('pre', {}, 'svc console'),
    h(
      'details',
      { open: lacks === 'loopback' },
      h('summary', {}, 'Or give the token'),
      h(
        'form',
        {
          onsubmit: event => {
            event.preventDefault()
            const input = (event.target as HTMLFormElement).querySelector('input')
            const token = input?.value.trim() ?? ''
            if (token !== '') open(token)
          },
        },
        h('label', { for: 'token' }, 'Content of control_token.txt in the data directory'),
        h('input', { id: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false' }),
        h('p', { class: 'hint' }, 'It stays in the memory of this page and nowhere else.'),
        h('button', { type: 'submit' }, 'Open'),
      ),
    ),
  )
}
