#ifndef SLIMPACK_TESTS_TRAIN_PLAN_MUTATIONS_HPP
#define SLIMPACK_TESTS_TRAIN_PLAN_MUTATIONS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/testing/generator.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Small changes of plan files, as a hand or a broken disk may make them.
namespace slimpack::tests {

using json = nlohmann::ordered_json;

/// Draws changes of a plan's document. Each leaves a document that a reader has to read to its end to find fault with
/// it, or that is a plan of its own.
class plan_mutations {
 public:
  explicit plan_mutations(testing::generator& random) : random_(random) {}

  /// Changes a document in one place. Returns what was changed, in words. A document that an earlier change has left
  /// without what this one is about stays as it is.
  std::string change(json& file) {
    try {
      return change_one(file);
    } catch (const json::exception&) {
    } catch (const std::out_of_range&) {
    } catch (const std::invalid_argument&) {
    }
    return "no more";
  }

 private:
  std::string change_one(json& file) {
    json& replica = one_of(file["replicas"]);
    switch (random_.between(0, 9)) {
      case 0:
      case 1:
        return replica.contains("loans") ? "loans " + of_loans(replica["loans"])
                                         : "programs " + of_programs(file, replica["programs"]);
      case 2:
      case 3:
        return "programs " + of_programs(file, replica["programs"]);
      case 4:
      case 5:
        return "slices " + of_packs(replica[random_.between(0, 1) == 0 ? "forward" : "backward"]);
      case 6:
        return file["merges"].empty() ? "programs " + of_programs(file, replica["programs"])
                                      : "merges " + of_merge(one_of(file["merges"]));
      case 7:
        return "sequences " + of_sequences(file["replicas"]);
      case 8:
        return "times " + of_times(replica);
      default:
        return "anywhere " + anywhere(file);
    }
  }

  [[nodiscard]] std::size_t index(std::size_t size) {
    if (size == 0) throw std::out_of_range("nothing to choose from");
    return static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(size) - 1));
  }
  [[nodiscard]] json& one_of(json& list) { return list[index(list.size())]; }

  /// A number a little off, or far.
  std::string of_number(json& number) {
    if (number.is_number_float()) {
      const double factors[]{0, 0.5, 2, 1e6, -1};
      number = number.get<double>() * factors[index(std::size(factors))];
      return "a time";
    }
    const std::int64_t steps[]{-1, 1, -4, 4, -8, 8};
    number = random_.between(0, 4) == 0 ? random_.between(0, 40)
                                        : number.get<std::int64_t>() + steps[index(std::size(steps))];
    return "a number";
  }
  /// "F3.1", with another pack, kind or chunk.
  std::string of_instruction(json& text) {
    std::string name = text.get<std::string>();
    const std::size_t dot = name.find('.');
    switch (random_.between(0, 2)) {
      case 0:
        name[0] = "FBWEVUG"[index(7)];
        break;
      case 1: {
        const std::string chunk = dot == std::string::npos ? "" : name.substr(dot);
        name = name[0] + std::to_string(std::stoll(name.substr(1)) + (random_.between(0, 1) == 0 ? 1 : -1)) + chunk;
        break;
      }
      default:
        name = dot == std::string::npos ? name : name.substr(0, dot + 1) + std::to_string(random_.between(0, 2));
    }
    text = name;
    return "an instruction";
  }
  /// Elements of a list swapped, moved, left out or repeated.
  std::string of_list(json& list) {
    if (list.empty()) return "nothing";
    const std::size_t a = index(list.size()), b = index(list.size());
    const auto at = [&](std::size_t k) { return list.begin() + static_cast<std::ptrdiff_t>(k); };
    switch (random_.between(0, 4)) {
      case 0:
        std::swap(list[a], list[b]);
        return "two swapped";
      case 1: {
        json moved = list[a];
        list.erase(at(a));
        list.insert(at(std::min(b, list.size())), std::move(moved));
        return "one moved";
      }
      case 2:
        list.erase(at(a));
        return "one left out";
      case 3: {
        json again = list[a];
        list.insert(at(b), std::move(again));
        return "one repeated";
      }
      default: {
        const std::size_t next = a + 1 < list.size() ? a + 1 : 0;
        std::swap(list[a], list[next]);
        return "neighbours swapped";
      }
    }
  }

  std::string of_loans(json& loans) {
    if (loans.empty()) return "nothing";
    json& one = one_of(loans);
    json& other = one_of(loans);
    switch (random_.between(0, 8)) {
      case 0:
        return of_number(one["context"][index(3)]);
      case 1:
        return of_number(one["queries"][index(3)]);
      case 2:
        return of_number(one[random_.between(0, 1) == 0 ? "lender" : "helper"][0]);
      case 3:
        return of_instruction(one[random_.between(0, 1) == 0 ? "lender" : "helper"][1]);
      case 4: {
        const char* const name = random_.between(0, 1) == 0 ? "helper" : "context";
        std::swap(one[name], other[name]);
        return std::string(name) + "s swapped";
      }
      case 5:
        std::swap(one["lender"], one["helper"]);
        return "lender and helper swapped";
      case 6: {  // one loan in two, of the same keys
        json rest = one;
        const std::int64_t keys = one["context"][2].get<std::int64_t>(), first = keys / 2;
        one["context"][2] = first;
        rest["context"][1] = rest["context"][1].get<std::int64_t>() + first;
        rest["context"][2] = keys - first;
        if (random_.between(0, 1) == 0) rest["helper"] = other["helper"];
        loans.push_back(rest);
        return "one cut in two";
      }
      case 7: {  // other keys, as many
        one["context"][1] = one["context"][1].get<std::int64_t>() + random_.between(1, 4);
        return "a context shifted";
      }
      default:
        return of_list(loans);
    }
  }

  std::string of_programs(json& file, json& programs) {
    json& code = one_of(programs);
    switch (random_.between(0, 5)) {
      case 0:
        std::swap(code, one_of(programs));
        return "of two stages swapped";
      case 1:
        std::swap(programs, one_of(file["replicas"])["programs"]);
        return "of two replicas swapped";
      case 2:
        return code.empty() ? "nothing" : of_instruction(one_of(code));
      default:
        return of_list(code);
    }
  }

  std::string of_packs(json& packs) {
    if (packs.empty()) return "nothing";
    json& slices = one_of(packs)["slices"];
    json& others = one_of(packs)["slices"];
    json& one = one_of(slices);
    switch (random_.between(0, 6)) {
      case 0:
        return of_number(one[index(3)]);
      case 1:
        return of_list(slices);
      case 2:
        return of_list(packs);
      case 3:
        std::swap(one, one_of(others));
        return "of two packs swapped";
      case 4: {
        if (&slices == &others || slices.size() < 2) return of_list(packs);
        others.push_back(one);
        slices.erase(slices.begin() + (&one - &slices[0]));
        return "one moved to another pack";
      }
      case 5: {  // a cut inside a slice
        const std::int64_t begin = one[1].get<std::int64_t>(), length = one[2].get<std::int64_t>(),
                           first = random_.between(1, length);
        if (first == length) return of_list(packs);
        const json head{one[0], begin, first}, tail{one[0], begin + first, length - first};
        const bool ahead = random_.between(0, 1) == 0;
        one = ahead ? head : tail;
        slices.push_back(ahead ? tail : head);
        return "one cut in two";
      }
      default: {  // a cut between slices moved
        const std::int64_t by = random_.between(0, 1) == 0 ? 4 : -4;
        one[1] = one[1].get<std::int64_t>() + by;
        one[2] = one[2].get<std::int64_t>() - by;
        return "a cut moved";
      }
    }
  }

  std::string of_merge(json& merge) {
    json& rows = merge[random_.between(0, 1) == 0 ? "forward" : "backward"];
    switch (random_.between(0, 6)) {
      case 0: {
        if (rows.empty()) return "nothing";
        json& pack = one_of(one_of(rows));
        if (pack.is_null() || random_.between(0, 3) == 0)
          return pack = pack.is_null() ? json(0) : json(nullptr), "a pack of a row";
        return of_number(pack);
      }
      case 1:
        return of_list(rows);
      case 2:
        return rows.empty() ? "nothing" : of_list(one_of(rows));
      case 3: {
        const char* const kinds[]{"keep", "queries", "ring"};
        merge["exchange"] = kinds[index(3)];
        return "an exchange";
      }
      case 4:
        return of_list(merge["replicas"]);
      case 5:
        return of_number(merge["sequence"]);
      default: {
        if (!merge.contains("relays") || merge["relays"].empty()) return of_list(rows);
        json& relay = one_of(merge["relays"]);
        if (random_.between(0, 2) == 0) return of_number(relay["segments"]);
        json& side = relay[random_.between(0, 1) == 0 ? "out" : "in"];
        return random_.between(0, 1) == 0 && !side.empty() ? of_number(one_of(side)) : of_list(side);
      }
    }
  }

  std::string of_sequences(json& replicas) {
    json& own = one_of(replicas)["sequences"];
    json& other = one_of(replicas)["sequences"];
    if (own.empty()) return "nothing";
    if (random_.between(0, 1) == 0) return of_list(own);
    other.push_back(one_of(own));
    return "one on another replica";
  }

  /// Times and messages: they order transfers, and nothing else.
  std::string of_times(json& replica) {
    json* at = &replica[random_.between(0, 1) == 0 ? "forward" : "message"];
    while ((at->is_array() || at->is_object()) && !at->empty()) {
      if (at->is_object() && at->contains("time"))
        at = &(*at)[at->contains("output") && random_.between(0, 1) == 0 ? "output" : "time"];
      else if (at->is_object())
        at = &std::next(at->begin(), static_cast<std::ptrdiff_t>(index(at->size()))).value();
      else
        at = &one_of(*at);
    }
    return at->is_number() ? of_number(*at) : "nothing";
  }

  /// A value wherever it is, but for the batch, which a trainer has from elsewhere.
  std::string anywhere(json& file) {
    json* at = &file;
    std::string way;
    for (;;) {
      json* below = at;
      if (at->is_object() && !at->empty()) {
        const auto member = std::next(at->begin(), static_cast<std::ptrdiff_t>(index(at->size())));
        if (is_of_batch(member.key())) continue;
        way += '/' + member.key();
        below = &member.value();
        if (random_.between(0, 15) == 0) return at->erase(member), way + " left out";
      } else if (at->is_array() && !at->empty()) {
        if (random_.between(0, 5) == 0) return way + ' ' + of_list(*at);
        const std::size_t k = index(at->size());
        way += '/' + std::to_string(k);
        below = &(*at)[k];
      } else {
        break;
      }
      at = below;
    }
    if (random_.between(0, 7) == 0) return *at = nullptr, way + " is null";
    if (at->is_number()) return way + ' ' + of_number(*at);
    if (at->is_boolean()) return *at = !at->get<bool>(), way;
    if (at->is_string()) return *at = at->get<std::string>() + "0", way + " is another text";
    return way + " stays";
  }

  [[nodiscard]] static bool is_of_batch(const std::string& key) {
    return key == "lengths" || key == "parents" || key == "samples" || key == "targets";
  }

  testing::generator& random_;
};

/// What a file that somebody has changed and given a fitting hash is read as.
inline result<plan> read_with_its_hash(json& file) {
  for (int tries = 0;; ++tries) {
    std::istringstream in(file.dump());
    result<plan> read = io::read_plan(in);
    const std::string says = ", the hash of what the file holds";
    if (read || tries > 0 || read.error().detail.find(says) == std::string::npos) return read;
    const std::size_t end = read.error().detail.find(says);
    file["hash"] = read.error().detail.substr(end - 17, 16);
  }
}

}  // namespace slimpack::tests

#endif
