/** What the variables of a proxy hold that is for nobody else: a user, which may be a token, and a password. */
type Env = Readonly<Record<string, string | undefined>>

const NAMES = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy'] as const
/** What is shorter is a name, and part of too many words. */
const SECRET_MIN = 6

/** As they are written and as they are meant, also of an address without a scheme. */
export function proxySecrets(env: Env): string[] {
  const credentials = NAMES.flatMap(name => {
    const value = env[name]?.replace(/^\w+:\/\//, '')
    const end = value?.lastIndexOf('@') ?? -1
    return value === undefined || end < 0 ? [] : [value.slice(0, end)]
  })
  const parts = credentials.flatMap(text => [text, ...text.split(':')])
  return [...new Set(parts.flatMap(text => [text, unescaped(text)]))].filter(
    text => text.length >= SECRET_MIN,
  )
}

/** A text of a run with none of them in it, the longest first. */
export function withoutProxySecrets(text: string, env: Env): string {
  const secrets = proxySecrets(env).sort((a, b) => b.length - a.length)
  return secrets.reduce((masked, secret) => masked.replaceAll(secret, '…'), text)
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
