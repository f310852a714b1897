/** The page without a session: why it has none, and what lets it in. It asks for no secret: a forgery could ask for it too. */
import type { Opened } from './boot.ts'
import { type Drawn, h } from './h.ts'

type Lacks = Extract<Opened, { lacks: unknown }>['lacks']

const WHY: Record<Lacks, string> = {
  ticket: 'This node runs programs that answer for you, so its console opens by a link of yours alone.',
  wish: 'The owner of this node wants its console to open by a link alone (console_ticket).',
  loopback: 'This node can be reached from other machines, so its console opens by a link of yours alone.',
  user: 'This machine does not say whose browser this is, so the console opens by a link of yours alone.',
  place:
    'Another user of this machine may have answered at this address before, so the console opens by a link of yours alone.',
  browser: 'This page was not opened as a page of its own, so it was not let in.',
  spent: 'This link was used before, or is older than a minute.',
}

export function lockedPage(lacks: Lacks): Drawn {
  return h(
    'main',
    { class: 'locked', id: 'main' },
    h('h1', {}, 'The console of your node'),
    h('p', {}, WHY[lacks]),
    h('p', {}, 'Run this as the user of the node; it opens a link that counts once:'),
    h('pre', {}, 'svc console'),
    lacks === 'loopback' &&
      h(
        'p',
        { class: 'soft' },
        'From another machine, forward its port first: ssh -L <port>:127.0.0.1:<port> <machine>',
      ),
  )
}
