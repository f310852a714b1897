/** The openai backend: any server that speaks the chat-completions interface. */
import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { present } from '../protocol/encoding/present.ts'
import { type Backend, BackendFailed, type BackendRequest, type ConversationAttachment } from './backend.ts'
import { conversationText, promptMarker, systemText } from './prompt.ts'
import { readTexts } from './run-files.ts'

const RESPONSE_BYTES_MAX = 4 * 1024 * 1024
const NO_KEY = 'none'
/** Some models begin with what they think, between these marks or up to the second one. */
const THOUGHTS = /^[\s\S]*<\/think>|<think>[\s\S]*$/
const CUT = '[The answer was cut here: the model reached its limit of length.]'
const IMAGE_BYTES_MAX = 8 * 1024 * 1024
/** Of all images of one request; the newest go first. */
const IMAGES_BYTES_MAX = 16 * 1024 * 1024

export type OpenAiOptions = {
  apiBase: string
  apiKey: string | undefined
  model: string | undefined
  timeoutMs: number
  random: (length: number) => Uint8Array
}

export function openAiBackend(options: OpenAiOptions): Backend {
  const { model } = options
  if (!/^https?:\/\//i.test(options.apiBase) || !URL.canParse(options.apiBase))
    throw new BackendFailed(`expected an http or https address for --api-base, got "${options.apiBase}"`)
  const { username, password } = new URL(options.apiBase)
  if (username !== '' || password !== '')
    throw new BackendFailed('expected an address without a user and a password; give the key with --api-key')
  if (model === undefined) throw new BackendFailed('the openai backend needs a model; set --model')
  const client = new OpenAI({
    baseURL: options.apiBase,
    apiKey: options.apiKey ?? NO_KEY,
    timeout: options.timeoutMs,
    maxRetries: 1,
    fetch: boundedFetch,
  })
  return {
    name: `openai:${model}`,
    async reply(request, signal) {
      const messages = conversation(request, promptMarker(options.random))
      try {
        const completion: unknown = await client.chat.completions.create({ model, messages }, { signal })
        return { text: answerIn(completion), ...present({ cost: costOf(completion) }) }
      } catch (error) {
        if (error instanceof BackendFailed) throw error
        const said = `the model server ${shownAddress(options.apiBase)} failed: ${wordsOf(rootOf(error))}`
        throw new BackendFailed(options.apiKey ? said.replaceAll(options.apiKey, '(the key)') : said)
      }
    },
  }
}

/** The address without what may be secret in it. */
function shownAddress(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname.replace(/\/$/, '')
}

/** What the system said where the connection failed; the library says no more than that it did. */
function rootOf(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined
  return cause === undefined ? error : rootOf(cause)
}

/** The text of a completion, without what the model thought; a server may have answered with anything. */
function answerIn(given: unknown): string {
  const { choices } = (given ?? {}) as { choices?: unknown }
  const [choice] = Array.isArray(choices) ? (choices as Partial<OpenAI.ChatCompletion.Choice>[]) : []
  if (choice?.message === undefined)
    throw new BackendFailed('what the server answered is not a chat completion; check --api-base')
  const { content } = choice.message
  if (content != null && typeof content !== 'string')
    throw new BackendFailed('the answer of the model is not text; choose another model')
  const text = (content ?? '').replace(THOUGHTS, '').trim()
  if (text === '') throw new BackendFailed('the model gave an empty answer')
  return choice.finish_reason === 'length' ? `${text}\n\n${CUT}` : text
}

/** The tokens of a completion that {@link answerIn} took; many servers don't count them. */
function costOf(completion: unknown): string | undefined {
  const { usage } = completion as { usage?: { total_tokens?: unknown } | null }
  return typeof usage?.total_tokens === 'number' ? `${usage.total_tokens} tokens` : undefined
}

/** The body is read as far as an answer can go: a server without end would fill the memory. */
async function boundedFetch(...given: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...given)
  let left = RESPONSE_BYTES_MAX
  const bounded = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        left -= chunk.length
        if (left < 0) controller.error(new BackendFailed('the model server answered with more than 4 MiB'))
        else controller.enqueue(chunk)
      },
    }),
  )
  return new Response(bounded ?? null, response)
}

/** All turns are one message of the user: one of the assistant would be taken for what the model itself decided to say. */
function conversation(request: BackendRequest, marker: string): OpenAI.ChatCompletionMessageParam[] {
  const files = readTexts(request)
  const text = conversationText(request, marker, files)
  const images = imagesOf(request).map(imagePart)
  return [
    { role: 'system', content: systemText(request, marker, files) },
    { role: 'user', content: images.length === 0 ? text : [{ type: 'text', text }, ...images] },
  ]
}

/** Images of the other party that fit, in the order of the conversation. */
function imagesOf(request: BackendRequest): Image[] {
  const found = request.turns
    .filter(turn => turn.role === 'peer')
    .flatMap(turn => turn.attachments)
    .filter(isImage)
  let left = IMAGES_BYTES_MAX
  const taken: Image[] = []
  for (const image of found.reverse()) {
    if (image.bytes > left) break
    left -= image.bytes
    taken.unshift(image)
  }
  return taken
}

type Image = ConversationAttachment & { path: string }

function isImage(attachment: ConversationAttachment): attachment is Image {
  const { mediaType, path, bytes } = attachment
  return /^image\/(png|jpeg|gif|webp)$/.test(mediaType) && path !== null && bytes <= IMAGE_BYTES_MAX
}

function imagePart({ mediaType, path }: Image): OpenAI.ChatCompletionContentPartImage {
  const bytes = readFileSync(path).toString('base64')
  return { type: 'image_url', image_url: { url: `data:${mediaType};base64,${bytes}` } }
}
