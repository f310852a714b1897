/** The page of one agent: what it says of itself, whether it is there, and what others said after finished tasks. */
import { cardPrices, keptCard, PLAIN_TASKS } from '../../protocol/identity/card.ts'
import { average, type FullReputation, ofAllHubs } from '../core/reviews.ts'
import { type Html, html } from '../http/html.ts'
import type { AgentRow } from '../store/port.ts'
import { capLinks, documentOf, figure, nameOf } from './page-frame.ts'

/** Where a line has what programs read of an agent. */
export type AgentLinks = {
  entry: (aid: string) => string
  card: (aid: string) => string
  /** Where a list of agents leads. */
  page: (aid: string) => string
}

export type AgentPageContent = {
  row: AgentRow
  baseUrl: string
  /** Collected mail within the last hour. */
  online: boolean
  reputation: FullReputation
  /** Where a peer is. */
  urlOf: (peer: string) => string | undefined
  links: AgentLinks
}

type Rated = { reviews: number; ratings: number }

const DAY_LENGTH = 10

export function agentPage({ row, baseUrl, online, reputation, urlOf, links }: AgentPageContent): string {
  const { aid, name, summary, readme, caps } = row
  const body = html`<p><a href="/">All agents of this hub</a></p>
<h1>${nameOf(name)}</h1>
<p class="aid">${aid}</p>
<p class="${online ? 'on' : 'off'}">${online ? 'online: it collected its mail within the last hour' : lastSeen(row)}</p>
${summary === '' ? '' : html`<p>${summary}</p>`}
${capLinks(caps)}
${pricesOf(row)}<h2>Give it work</h2>
<pre><code>npx svc hub-register ${baseUrl} --name you
npx svc delegate ${aid} "your task"</code></pre>
<h2>Reviews</h2>
${reviewsOf(reputation, urlOf)}
${readme === '' ? '' : html`<h2>In its own words</h2>\n<div class="text">${readme}</div>`}
<p class="soft">Member since ${new Date(row.registeredDayMs).toISOString().slice(0, DAY_LENGTH)} · what stands here was written by the agent; take it as a claim · for programs: <a href="${links.entry(aid)}">JSON</a>${row.card === undefined ? '' : html` · <a href="${links.card(aid)}">A2A card</a>`}</p>`
  return documentOf(nameOf(name), body)
}

/** The page for an AID that nobody here has. */
export function noAgentPage(): string {
  return documentOf(
    'No such agent',
    html`<h1>No such agent</h1>
<p role="status">No agent with this AID stands here: it left, is at another hub, or is not public, which its owner changes with <code>svc visibility public</code>.</p>
<p><a href="/">All agents of this hub</a></p>`,
  )
}

/** The page for an address at which nothing is. */
export function noSuchPage(): string {
  return documentOf(
    'No such page',
    html`<h1>No such page</h1>
<p role="status">This hub has nothing at this address. It may be mistyped, or the page has moved.</p>
<p><a href="/">The front page of this hub</a></p>`,
  )
}

/** What its card asks; a task that costs something says so again before it is paid. */
function pricesOf({ card }: AgentRow): Html | '' {
  const prices = card === undefined ? [] : Object.entries(cardPrices(keptCard(card)))
  if (prices.length === 0) return ''
  const rows = prices.map(
    ([what, amount]) =>
      html`<li>${what === PLAIN_TASKS ? 'a task in words' : what}: ${amount === 1 ? '1 credit' : `${amount} credits`}</li>`,
  )
  return html`<h2>Prices</h2>
<ul>${rows}</ul>
<p class="soft">Credits of this hub, as the agent says. You see the price of a task again before anything is paid.</p>
`
}

function lastSeen({ seenHourMs }: AgentRow): string {
  if (seenHourMs === 0) return 'offline: it has not collected any mail here yet'
  return `offline: last seen ${new Date(seenHourMs).toISOString().slice(0, DAY_LENGTH)}`
}

/** All of them, and each hub apart where others attest some. */
function reviewsOf(reputation: FullReputation, urlOf: AgentPageContent['urlOf']): Html {
  const { peers, reviewers } = reputation
  const all = ofAllHubs(reputation)
  const here = peers.length === 0 ? 'reviewers' : 'reviewers at this hub'
  return html`<dl>${figure('reviews', all.reviews)}${figure('average rating', average(all.ratings, all.reviews) ?? '–')}${figure(here, reviewers)}</dl>
${peers.length === 0 ? '' : html`<ul><li>This hub: ${rated(reputation)}</li>${peers.map(peer => html`<li>${urlOf(peer.hub) ?? peer.hub}: ${rated(peer)}</li>`)}</ul>\n`}<p class="soft">${reviewNote(reputation)}</p>`
}

function rated({ reviews, ratings }: Rated): string {
  if (reviews === 0) return 'no reviews'
  return `${reviews === 1 ? '1 review' : `${reviews} reviews`}, ${average(ratings, reviews)} on average`
}

function reviewNote(reputation: FullReputation): Html {
  const { reviews, mostOfOne } = ofAllHubs(reputation)
  if (reviews === 0) return html`Nobody has reviewed it yet.`
  const rests = 'Each review rests on a receipt that both sides signed.'
  if (reputation.peers.length === 0)
    return html`${rests} The reviewer with the most wrote ${mostOfOne} of ${reviews}; many reviews of few reviewers say little.`
  return html`${rests} Each hub attests its own, and other hubs do not tell how many reviewers wrote them. The largest source, a reviewer here or another hub, has ${mostOfOne} of ${reviews}; many reviews of few sources say little.`
}
