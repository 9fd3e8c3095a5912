/* Records the names that a process looks up and the addresses outside this machine that it turns to, one a line, in
 * the file LOOKUPS. Preloaded (ld.so(8)) into every process of a suite, it sees what Python's own hooks cannot: calls
 * of libraries in C. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void record(const char *what, const char *name) {
    const char *path = getenv("LOOKUPS");
    char line[512];
    int length = snprintf(line, sizeof line, "%s %s\n", what, name);
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (file >= 0) {
        /* One write, so that lines of several processes do not mix. */
        (void)!write(file, line, (size_t)(length < (int)sizeof line ? length : (int)sizeof line - 1));
        close(file);
    }
}

static void record_address(const struct sockaddr *address) {
    char text[INET6_ADDRSTRLEN];
    if (address && address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)address;
        if ((ntohl(four->sin_addr.s_addr) >> 24) != 127 && four->sin_addr.s_addr)
            record("address", inet_ntop(AF_INET, &four->sin_addr, text, sizeof text));
    } else if (address && address->sa_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        if (!IN6_IS_ADDR_LOOPBACK(six) && !IN6_IS_ADDR_UNSPECIFIED(six) &&
            !(IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127))
            record("address", inet_ntop(AF_INET6, six, text, sizeof text));
    }
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    if (node)
        record("name", node);
    return NEXT(getaddrinfo)(node, service, hints, result);
}

struct hostent *gethostbyname(const char *name) {
    record("name", name);
    return NEXT(gethostbyname)(name);
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
    record_address(address);
    return NEXT(connect)(socket, address, length);
}

ssize_t sendto(int socket, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
    record_address(address);
    return NEXT(sendto)(socket, data, size, flags, address, length);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    record_address(message->msg_name);
    return NEXT(sendmsg)(socket, message, flags);
}
