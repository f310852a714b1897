/**
 * The page on which a person without an account talks to an agent. What it shows of agents is text; its program, of
 * `console/guest`, lies beside the built hub.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { systemCode } from '../../protocol/encoding/errors.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { type Html, html } from '../http/html.ts'
import { type Streamed, textReply } from '../http/reply.ts'
import { GUEST_STYLE } from './guest-style.ts'
import { documentOf, nameOf, pageHeaders, programHeaders } from './page-frame.ts'

const SCRIPT = fileURLToPath(new URL('guest.js', import.meta.url))
const MIB = 1024 * 1024

type Handler = { aid: string; name: string; quota: number }
/** Characters and attachments of one message, and their bytes together. */
type Limits = { text: number; files: number; bytes: number }

type OpenPage = {
  state: 'open'
  hubName: string | undefined
  /** Agents to choose from. */
  handlers: readonly Handler[]
  /** The one that the address names. */
  chosen: Handler | undefined
  limits: Limits
  script: string
}
/** What the page is about: guests are off, the one that was named takes none, nobody does, or it is open. */
export type GuestPage = { state: 'off' | 'unbuilt' | 'refused' | 'nobody' } | OpenPage

const TITLE = 'Talk to an agent'

/** What runs on the page; undefined in a checkout that runs from its sources. */
export function builtGuestScript(): string | undefined {
  try {
    return readFileSync(SCRIPT, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

export function guestPage(page: GuestPage): Streamed {
  if (page.state !== 'open') {
    const body = html`<h1>${TITLE}</h1>\n${closed[page.state]}\n<p><a href="/">The front page of this hub</a></p>`
    return textReply('text/html; charset=utf-8', documentOf(TITLE, body), pageHeaders)
  }
  const program = { script: page.script, style: GUEST_STYLE }
  return textReply(
    'text/html; charset=utf-8',
    documentOf(TITLE, talk(page), program),
    programHeaders(program),
  )
}

const closed: Record<Exclude<GuestPage['state'], 'open'>, Html> = {
  off: html`<p role="status">This hub takes no messages of guests.</p>
<p>Its operator lets guests in by starting it with <code>--guests</code>. You can also write to its agents with a node of your own; the front page has the commands.</p>`,
  unbuilt: html`<p role="status">The page for guests is missing in this copy of svc-hub. Its operator makes it with <code>npm run build</code>, then starts the hub again.</p>`,
  refused: html`<p role="status">This agent takes no messages of guests: it does not want any, or it is not here. Check the address that you were given.</p>
<p><a href="/guest">Talk to another agent</a></p>`,
  nobody: html`<p role="status">No agent here takes messages of guests now. Try again later.</p>`,
}

function talk({ hubName, handlers, chosen, limits }: OpenPage): Html {
  return html`<header><h1>${TITLE}</h1>
<p>You need no account. The agent, ${hubName ?? 'this hub'} and whoever runs them can read what you write: keep secrets to yourself.</p>
<p id="unscripted">This page needs JavaScript, which your browser does not run here. Allow it for this page, then load it again.</p>
${choice(handlers, chosen)}
<div id="with" hidden><p id="who"></p><button type="button" id="end">End the conversation</button></div>
<p class="aid" id="who-aid"></p></header>
<div id="log" role="log" aria-label="Conversation" hidden><ol></ol></div>
<section id="asked" aria-labelledby="asked-text" hidden><p id="asked-text">The agent takes this for done. Do you agree?</p>
<button type="button" id="agree">Agree and end</button> <span class="soft">Or go on and write.</span></section>
<section id="over" aria-labelledby="over-text" hidden><h2 id="over-text" tabindex="-1"></h2>
<button type="button" id="again">Start another conversation</button></section>
<div id="foot"><p id="status" role="status"></p>
<form id="compose" hidden data-files="${limits.files}" data-bytes="${limits.bytes}">
<label for="text">Your message</label>
<textarea id="text" rows="2" maxlength="${limits.text}" aria-describedby="hint"></textarea>
<ul id="files" aria-label="Files to send"></ul>
<div class="row"><button type="submit" id="send">Send</button><input type="file" id="attach" multiple><label class="button" for="attach">Attach files</label></div>
<p class="soft" id="hint"><span id="left"></span> <span class="keys">Enter sends, Shift with Enter begins a line.</span> <span>At most ${limits.files} files, ${limits.bytes / MIB} MiB together.</span></p>
</form></div>`
}

/** One that the address names is chosen; there may be more than are listed. */
function choice(handlers: readonly Handler[], chosen: Handler | undefined): Html {
  const isListed = handlers.some(({ aid }) => aid === chosen?.aid)
  const listed = chosen === undefined || isListed ? handlers : [chosen, ...handlers]
  const option = ({ aid, name, quota }: Handler): Html =>
    html`<option value="${aid}"${aid === chosen?.aid ? html` selected` : ''}>${nameOf(shownLine(name))}, ${quota === 1 ? '1 message' : `${quota} messages`}</option>`
  const sorted = [...listed].sort((one, other) => one.name.localeCompare(other.name, 'en'))
  return html`<p id="choice" hidden><label for="aid">Agent</label> <select id="aid"><option value="">Any agent</option>${sorted.map(option)}</select></p>`
}
